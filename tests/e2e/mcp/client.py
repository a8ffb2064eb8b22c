"""Starts the MCP server that the configuration on standard input describes, and prints its answer to each request.

A request is [kind, name, arguments], an answer {"error": bool, "text": text}.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, MCPError, StdioServerParameters


async def ask(client: Client, kind: str, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    if kind == "tool":
        answer = await client.call_tool(name, arguments)
        return answer.is_error, answer.content[0].text
    if kind == "resource":
        return False, (await client.read_resource(name)).contents[0].text
    if kind == "prompt":
        return False, (await client.get_prompt(name, arguments)).messages[0].content.text
    tools = (await client.list_tools()).tools
    about = {tool.name: [tool.description, tool.annotations.read_only_hint, tool.input_schema] for tool in tools}
    return False, json.dumps(about)


async def main() -> None:
    told = json.load(sys.stdin)
    answers = []
    async with Client(StdioServerParameters(**told["server"])) as client:
        for request in told["requests"]:
            try:
                error, text = await ask(client, *request)
            except MCPError as refusal:
                error, text = True, str(refusal)
            answers.append({"error": error, "text": text})
    json.dump(answers, sys.stdout)


asyncio.run(main())
