"""Shapes that answers about different things share."""

from __future__ import annotations

from app.schemas.answers.shapes import anything, integer, many, mapping, number, shape, text

Error = shape("Error", {"error": text()})
TraceError = shape("TraceError", {"error": text(), "message": text(), "code": integer()})
Tokens = shape(
    "Tokens",
    {
        "prompt": integer(),
        "completion": integer(),
        "total": integer(),
        "cacheRead": integer(required=False),
        "cacheWrite": integer(required=False),
        "reasoning": integer(required=False),
    },
)
Cost = shape("Cost", {"prompt": number(), "completion": number(), "total": number()})
ModelName = shape("ModelName", {"id": integer(), "name": text(), "vendor": text()})
Resolved = shape("PlaceholdersUsed", {"resolved": mapping(text(allow_none=True)), "ignored": many(text())})
ToolCall = shape("ToolCall", {"id": text(), "name": text(), "arguments": anything()})
