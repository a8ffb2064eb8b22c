"""Anthropic's Messages, as programs call them: https://docs.claude.com/en/api/messages-streaming."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from app.chat import ToolDefinition
from app.providers.anthropic_wire import AnthropicDecoder, AnthropicWire
from app.providers.passing.wire import Body, PassingWire, Results, encoded, entries, listed, texts, tool, without_nulls
from app.providers.vendors import Vendor


class Messages(PassingWire):
    """`POST /v1/messages`."""

    vendor: ClassVar[Vendor] = "ANTHROPIC"
    headers = AnthropicWire.headers
    kept_headers = ("anthropic-version", "anthropic-beta")
    make_decoder = AnthropicDecoder
    limit_names = ("max_tokens",)

    def path(self, model: str) -> str:
        return "/v1/messages"

    def conversation(self, body: Body) -> list[Any]:
        return listed(body, "messages")

    def continued(self, body: Body, results: Results) -> Body:
        content = [without_nulls(block) for block in results.received["content"]]
        calls = (block for block in content if block.get("type") in ("tool_use", "mcp_tool_use"))
        answers = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": text}
            for call, text in zip(calls, results.texts, strict=False)
            if call["type"] == "tool_use"
        ]
        added = [{"role": "assistant", "content": content}, {"role": "user", "content": answers}]
        return body | {"messages": [*self.conversation(body), *added]}

    def acting_tools(self, body: Body) -> Iterator[str]:
        yield from ["mcp_servers"] * bool(body.get("mcp_servers"))
        yield from super().acting_tools(body)

    def events(self, received: Any, body: Body) -> Iterator[Any]:
        usage = received.get("usage") or {}
        begun: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage | {"output_tokens": 0},
        }
        yield {"type": "message_start", "message": received | begun}
        for index, block in enumerate(received["content"]):
            empty, deltas = _pieces(block)
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        delta = {key: value for key, value in received.items() if key.startswith("stop_")}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}

    def instruction(self, body: Body) -> str:
        return texts(body.get("system"))

    def tools(self, body: Body) -> Iterator[ToolDefinition]:
        for entry in entries(body.get("tools")):
            if entry.get("type", "custom") in ("custom", None):
                yield from tool(entry, entry.get("input_schema"))


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block of content as its stream begins, and the deltas that complete it."""
    match block.get("type"):
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": block.get("text", "")}]
        case "tool_use":
            arguments = encoded(block.get("input", {})).decode()
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block.get("thinking", "")}
            signature = {"type": "signature_delta", "signature": block.get("signature", "")}
            return block | {"thinking": "", "signature": ""}, [thought, signature]
        case _:
            return block, []
