"""Google's ADK: the tools as an agent of it has them."""

import asyncio

from google.adk.tools.mcp_tool import McpToolset
from google.adk.tools.mcp_tool.mcp_session_manager import StreamableHTTPConnectionParams
from mcp_types import ElicitResult

import place

progress = []


async def tell(done, total, message):
    progress.append(done)


async def answer(context, params):
    return ElicitResult(action="accept", content={"confirm": True})


async def main():
    connection = StreamableHTTPConnectionParams(url=place.URL, headers=place.HEADERS)
    toolset = McpToolset(connection_params=connection, progress_callback=tell, elicitation_callback=answer)
    tools = {tool.name: tool for tool in await toolset.get_tools()}
    done = await tools["slow_compute"].run_async(args={"seconds": 1, "label": "x"}, tool_context=None)
    assert done["content"][0]["text"] == "x: done in 1 s", done
    assert len(progress) > 3, progress
    done = await tools["confirm_delete"].run_async(args={"filename": "a.txt"}, tool_context=None)
    assert done["content"][0]["text"] == "deleted a.txt", done
    await toolset.close()
    print(f"{len(progress)} notices of progress, a question answered in a form, results")


asyncio.run(main())
