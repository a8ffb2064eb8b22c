"""Reads the texts in which DSPy writes the inputs and outputs of a program: each field below a line with its name.

Outputs may also be a JSON object. Sources: https://dspy.ai/api/adapters/ChatAdapter/ and
https://dspy.ai/api/adapters/JSONAdapter/
"""

from __future__ import annotations

import re
from typing import NamedTuple

from app.chat import ToolCall
from app.values.json import json_or_text, json_text

FIELDS_BEGIN = "[[ ## "
_HEADER = re.compile(r"^\[\[ ## (\w++) ## \]\]", re.MULTILINE)
_REQUEST = "\n\nRespond with "
"""Begins the paragraph after the inputs, which names the outputs that the model has to write."""
_STEPS = "trajectory"
"""The input with the steps of an agent so far, which are fields, too."""
_THOUGHTS = ("next_thought", "reasoning")
_TOOL, _ARGUMENTS = "next_tool_name", "next_tool_args"
_END = "completed"


class Fields(NamedTuple):
    """What a person or a model wrote into a message with fields."""

    text: str | None
    reasoning: str | None = None
    calls: tuple[ToolCall, ...] = ()


def read_fields(role: str, text: str) -> Fields | None:
    """Return the contents of a message of the user or the model; None if it does not begin with a field."""
    if not _HEADER.match(text):
        return None
    _, *parts = _HEADER.split(text)
    named = [(name, value.strip()) for name, value in zip(parts[::2], parts[1::2], strict=True)]
    if role == "user":
        return Fields(_text(_asked(named)))
    if role != "assistant":
        return None
    return _outputs(dict(named))


def read_object(text: str) -> Fields | None:
    """Return the contents of a model's message that is a JSON object with the outputs; None for any other text."""
    values = json_or_text(text)
    if not isinstance(values, dict) or not values:
        return None
    return _outputs({name: json_text(value).strip() for name, value in values.items() if value is not None})


def _outputs(values: dict[str, str]) -> Fields:
    reasoning = next(filter(None, map(values.pop, _THOUGHTS, ("", ""))), None)
    values.pop(_END, None)
    name, arguments = values.pop(_TOOL, ""), values.pop(_ARGUMENTS, "")
    calls = (ToolCall("", name, json_or_text(arguments)),) if name else ()
    return Fields(_text(list(values.items())), reasoning, calls)


def _asked(named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the inputs of the program, without the steps so far and the request for outputs."""
    names = [name for name, _ in named]
    inputs = named[: names.index(_STEPS)] if _STEPS in names else named
    return [(name, value.rpartition(_REQUEST)[0] or value) for name, value in inputs]


def _text(named: list[tuple[str, str]]) -> str | None:
    """Return the only value, or each value after its name."""
    named = [(name, value) for name, value in named if value]
    if len(named) == 1:
        return named[0][1]
    return "\n".join(f"{name}: {value}" for name, value in named) or None
