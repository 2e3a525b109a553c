"""OpenAI's agents SDK, which shows no forms: a result in time, and a question by the companion tools."""

import asyncio

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

import place


async def main():
    async with MCPServerStreamableHttp(
        params={"url": place.URL, "headers": place.HEADERS}, client_session_timeout_seconds=60
    ) as server:
        names = {tool.name for tool in await server.list_tools()}
        assert {"slow_compute", "task_wait"} <= names, names
        done = await server.call_tool("slow_compute", {"seconds": 1, "label": "x"})
        assert done.content[0].text == "x: done in 1 s", done

    async with MCPServerStdio(
        params={"command": place.STDIO[0], "args": [*place.STDIO[1:], "--wait", "30s"]}, client_session_timeout_seconds=60
    ) as server:
        handle = await server.call_tool("confirm_delete", {"filename": "a.txt"})
        assert "task_answer" in handle.content[0].text, handle
        task = getattr(handle, "structured_content", None) or handle.structuredContent
        await server.call_tool("task_answer", {"task_id": task["task_id"], "answer": {"confirm": True}})
        done = await server.call_tool("task_wait", {"task_id": task["task_id"], "timeout_s": 20})
        assert done.content[0].text == "deleted a.txt", done
    print("over HTTP and stdio; a question answered by task_answer, results (it shows no progress and no forms)")


asyncio.run(main())
