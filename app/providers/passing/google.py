"""Google's generateContent, as programs call it: https://ai.google.dev/api/generate-content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from app.chat import ToolDefinition
from app.providers.google_wire import GoogleDecoder, result_object
from app.providers.passing.wire import Body, PassingWire, Results, entries, texts, tool, without_nulls
from app.providers.vendors import Vendor

_MCP_SERVERS = ("mcpServers", "mcp_servers")


class GenerateContent(PassingWire):
    """`POST /v1beta/models/{model}:generateContent`."""

    vendor: ClassVar[Vendor] = "GOOGLE"
    make_decoder = GoogleDecoder
    limit_names = ("maxOutputTokens", "max_output_tokens")
    number_name = "candidateCount"

    def path(self, model: str) -> str:
        return f"/v1beta/models/{quote(model)}:generateContent"

    def conversation(self, body: Body) -> list[Any]:
        return list(entries(body.get("contents")))

    def continued(self, body: Body, results: Results) -> Body:
        content = results.received["candidates"][0]["content"]
        calls = [part["functionCall"] for part in content["parts"] if part.get("functionCall")]
        answers = [
            {"functionResponse": without_nulls({"id": call.get("id"), "name": call["name"], "response": response})}
            for call, response in zip(calls, map(result_object, results.texts), strict=False)
        ]
        return body | {"contents": [*self.conversation(body), content, {"role": "user", "parts": answers}]}

    def parameters(self, body: Body) -> Mapping[str, Any]:
        sent = body.get("generationConfig") or body.get("generation_config")
        return sent if isinstance(sent, dict) else {}

    def acting_tools(self, body: Body) -> Iterator[str]:
        return (name for group in entries(body.get("tools")) for name in _MCP_SERVERS if group.get(name))

    def events(self, received: Any, body: Body) -> Iterator[Any]:
        yield received

    def instruction(self, body: Body) -> str:
        sent = body.get("systemInstruction") or body.get("system_instruction") or {}
        return texts(sent.get("parts") if isinstance(sent, dict) else sent)

    def tools(self, body: Body) -> Iterator[ToolDefinition]:
        for group in entries(body.get("tools")):
            for entry in entries(group.get("functionDeclarations") or group.get("function_declarations")):
                schemas = (entry.get(key) for key in ("parametersJsonSchema", "parameters_json_schema", "parameters"))
                yield from tool(entry, next(filter(None, schemas), None))
