"""FastMCP with its tasks, over HTTP and stdio: a task of its own accord, a question, progress in the status, cancelling."""

import asyncio
import sys

import fastmcp_tasks
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

import place

asked = []


async def answer(message, response_type, params, context):
    asked.append(message)
    return ElicitResult(action="accept", content={"confirm": True})


async def main(over):
    if over == "http":
        transport = StreamableHttpTransport(place.URL, headers=place.HEADERS)
    else:
        transport = StdioTransport(place.STDIO[0], place.STDIO[1:])
    async with Client(transport, elicitation_handler=answer) as client:
        names = {tool.name for tool in await client.list_tools()}
        assert "slow_compute" in names and "task_wait" not in names, names

        done = await client.call_tool("greet", {"name": "Ada"})
        assert done.content[0].text == "Hello, Ada!", done

        done = await client.call_tool("confirm_delete", {"filename": "a.txt"})
        assert done.content[0].text == "deleted a.txt", done
        assert asked == ["Delete a.txt?"], asked

        task = await fastmcp_tasks.call_tool_task(client, "slow_compute", {"seconds": 2, "label": "x"})
        said = set()
        while (status := await task.status()).status == "working":
            said.add(status.status_message)
            await asyncio.sleep(0.2)
        assert "computing x" in said, said
        done = await task.result()
        assert done.content[0].text == "x: done in 2 s", done

        task = await fastmcp_tasks.call_tool_task(client, "slow_compute", {"seconds": 600, "label": "y"})
        await task.cancel()
        while (status := await task.status()).status == "working":
            await asyncio.sleep(0.2)
        assert status.status == "cancelled", status
    print("tasks followed: progress in the status, a question answered in a form, results, one cancelled")


asyncio.run(main(sys.argv[1]))
