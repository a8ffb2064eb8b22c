"""Finds the values of a prompt's placeholders that the spans of a turn have recorded."""

from __future__ import annotations

from collections.abc import Sequence

from app.sessions.spans import TurnSpan
from app.values.json import json_container, json_text

_PLACEHOLDERS = "service.prompt.placeholders"
_VARIABLE = "gen_ai.prompt.variable."
"""The conventions' name for the value of a placeholder begins with this."""


def placeholders(spans: Sequence[TurnSpan]) -> dict[str, str] | None:
    """Key to value name, of the first span that has an object; other scalars than text as their JSON.

    Where no span has any, the variables of the first model call or agent that names some. The prompts of MCP servers
    have variables, too, which are not those of this prompt.
    """
    for span in spans:
        container = json_container(span.full.attributes.get(_PLACEHOLDERS))
        if isinstance(container, dict):
            return {key: json_text(value) for key, value in container.items() if value is not None}
    return next(filter(None, map(_variables, spans)), None)


def _variables(span: TurnSpan) -> dict[str, str]:
    if not (span.normal.is_chat or span.normal.is_agent):
        return {}
    values = span.full.attributes.items()
    return {key.removeprefix(_VARIABLE): json_text(value) for key, value in values if key.startswith(_VARIABLE)}
