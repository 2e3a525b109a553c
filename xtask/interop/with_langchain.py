"""LangChain's adapters, which open a session for each call."""

import asyncio

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult

import place

progress = []


async def tell(done, total, message, context):
    progress.append(done)


async def answer(mcp_context, params, context):
    return ElicitResult(action="accept", content={"confirm": True})


def text(result):
    return result if isinstance(result, str) else result[0]["text"]


async def main():
    server = {"transport": "streamable_http", "url": place.URL, "headers": place.HEADERS}
    client = MultiServerMCPClient({"longhaul": server}, callbacks=Callbacks(on_progress=tell, on_elicitation=answer))
    tools = {tool.name: tool for tool in await client.get_tools()}
    done = text(await tools["slow_compute"].ainvoke({"seconds": 1, "label": "x"}))
    assert done == "x: done in 1 s", done
    assert len(progress) > 3, progress
    done = text(await tools["confirm_delete"].ainvoke({"filename": "a.txt"}))
    assert done == "deleted a.txt", done
    print(f"{len(progress)} notices of progress, a question answered in a form, results")


asyncio.run(main())
