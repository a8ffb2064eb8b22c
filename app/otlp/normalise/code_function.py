"""Google's Gen AI instrumentation before it spoke the conventions: a tool as any function, `code.function.*`."""

from __future__ import annotations

from app.otlp.normalise.convention import Convention, SpanView, ToolUse
from app.otlp.text import json_container, json_or_text

_PARAMETER = "code.function.parameters."
_VALUE = ".value"


class CodeFunction(Convention):
    name = "code_function"
    markers = frozenset({"code.function.name", "code.function.return.value"})

    def tool(self, span: SpanView) -> ToolUse | None:
        arguments = {
            key.removeprefix(_PARAMETER).removesuffix(_VALUE): span.first(key)
            for key in span.attributes
            if key.startswith(_PARAMETER) and key.endswith(_VALUE)
        }
        # A text stays one, whatever it looks like; only lists and objects were made text.
        plain = {
            name: value if (inner := json_container(value)) is None else inner for name, value in arguments.items()
        }
        returned = json_or_text(span.first("code.function.return.value"))
        return ToolUse(span.text("code.function.name"), None, plain or None, returned)
