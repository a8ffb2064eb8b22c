"""The demo prompt: placeholders and tools, so that every feature can be tried on it without a vendor's key."""

from __future__ import annotations

from typing import Any

from app.rendering.placeholders import Placeholder, PlaceholderValue
from app.services.prompts.changes import NewPrompt

TEXT = """\
# Role
You are the support assistant of {{shop}}. Answer in a {{tone}} tone.

# Rules
- Look an order up before you say anything about it.
- Ask for the order number when it is missing.
---
## What you must not do
Promise refunds: pass those to a colleague.
"""


def _tool(name: str, description: str, argument: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": description, "parameters": parameters}


def _placeholder(key: str, description: str, **values: str) -> Placeholder:
    """The first value is the default."""
    named = tuple(PlaceholderValue(name, text, is_default=at == 0) for at, (name, text) in enumerate(values.items()))
    return Placeholder(key=key, description=description, values=named)


PROMPT = NewPrompt(
    name="Demo: shop support",
    value=TEXT,
    model_name="demo-agent",
    config={
        "tools": [
            _tool("get_order", "The state of an order, by its number.", "order_id"),
            _tool("get_weather", "The weather that a parcel travels through, by city.", "city"),
        ]
    },
    placeholders=(
        _placeholder("shop", "Whose assistant it is", northwind="Northwind Traders", contoso="Contoso Outdoor"),
        _placeholder("tone", "How it speaks", friendly="friendly, informal", formal="formal"),
    ),
)
