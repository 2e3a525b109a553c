"""The Python SDK, which knows no tasks: progress, a question, a handle for what takes long, the companion tools."""

import asyncio
import sys

import httpx
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

import place

asked = []


async def answer(context, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={"confirm": True})


async def main(mode):
    progress = []

    async def tell(done, total, message):
        progress.append(done)

    http = httpx.AsyncClient(headers=place.HEADERS, timeout=60, trust_env=False)
    async with Client(streamable_http_client(place.URL, http_client=http), mode=mode, elicitation_callback=answer) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[-4:] == ["task_wait", "task_answer", "task_cancel", "task_list"], names
        done = await client.call_tool("slow_compute", {"seconds": 1, "label": "x"}, progress_callback=tell)
        assert done.content[0].text == "x: done in 1 s", done
        assert len(progress) > 3 and progress == sorted(set(progress)), progress
        done = await client.call_tool("confirm_delete", {"filename": "a.txt"})
        assert done.content[0].text == "deleted a.txt", done
        assert asked == ["Delete a.txt?"], asked
        done = await client.call_tool("task_list", {"limit": 2})
        assert len(done.structured_content["tasks"]) == 2, done
    await http.aclose()

    server = StdioServerParameters(command=place.STDIO[0], args=[*place.STDIO[1:], "--wait", "30s"])
    # This one shows no forms: the model asks.
    async with Client(stdio_client(server), mode=mode) as client:
        handle = await client.call_tool("confirm_delete", {"filename": "b.txt"})
        task = handle.structured_content["task_id"]
        assert handle.structured_content["status"] == "input_required", handle
        taken = await client.call_tool("task_answer", {"task_id": task, "answer": {"confirm": False}})
        assert not taken.is_error, taken
        done = await client.call_tool("task_wait", {"task_id": task, "timeout_s": 20})
        assert done.content[0].text == "kept b.txt", done
    told = f"{len(progress)} notices of progress"
    print(f"{told}, a question answered in a form over HTTP and by task_answer over stdio, results")


asyncio.run(main(sys.argv[1]))
