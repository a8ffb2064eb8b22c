"""The reasons for which a model stopped, in the words of vendors and conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.values.python_text import recorded_container

_OF_MESSAGES = frozenset({"finish_reason", "finishReason", "stop_reason", "stopReason"})
_OF_SPANS = (
    *("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "gen_ai.response.stop_reason"),
    *("gen_ai.completion.0.finish_reason", "llm.completions.0.finish_reason", "llm.response.finish_reason"),
    *("llm.response.stop_reason", "llm.finish_reason", "ai.response.finishReason", "ai.finishReason"),
)
_TOOLS = frozenset({"toolcall", "toolcalls", "tooluse", "functioncall", "functioncalls"})
_LENGTH_MAX = 64


def asks_for_tools(message: Mapping[str, Any]) -> bool:
    """Return whether a message's finish reason is that tools are to be called."""
    if _OF_MESSAGES.isdisjoint(message):
        return False
    return any(_is_of_tools(message[key]) for key in _OF_MESSAGES & message.keys())


def recorded_reason(attributes: Mapping[str, Any]) -> bool | None:
    """Return whether a model call ended to have tools called; None if no attribute has a reason."""
    reasons = [reason for key in _OF_SPANS if (reason := attributes.get(key)) not in (None, "", [])]
    return any(map(_is_of_tools, reasons)) if reasons else None


def _is_of_tools(reason: Any) -> bool:
    """Return whether a reason, or the last one of several, names tools: `tool_calls`, `FinishReason.TOOL_CALL` …"""
    if not isinstance(reason, str | list):
        return False
    reasons = recorded_container(reason) or [reason]
    last = reasons[-1] if isinstance(reasons, list) else None
    if not isinstance(last, str) or len(last) > _LENGTH_MAX:
        return False
    return last.rpartition(".")[2].lower().replace("_", "").replace("-", "") in _TOOLS
