"""Log records that have all messages of a span in their body, as AWS's distribution of OpenTelemetry moves them.

Source: https://github.com/aws-observability/aws-otel-python-instrumentation
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from app.otlp.normalise.convention import Event
from app.otlp.normalise.roles import is_role, role_named

_CHOICE = "gen_ai.choice"


def has_messages(body: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether the body of a record is an object with messages as `input` or `output`."""
    return isinstance(body, dict) and any(_listed(body, side) for side in ("input", "output"))


def events_in(body: dict[str, Any]) -> Iterator[Event]:
    """Yield an event for each message, with the names that the messages had before they were moved."""
    for message in _listed(body, "input"):
        yield f"gen_ai.{_role(message)}.message", _fields(message)
    for message in _listed(body, "output"):
        yield _CHOICE, _fields(message)


def _listed(body: dict[str, Any], side: str) -> list[dict[str, Any]]:
    """Return the messages of a side that have a role; none where an entry is something else."""
    listed = body.get(side)
    messages = listed.get("messages") if isinstance(listed, dict) else None
    return messages if isinstance(messages, list) and all(map(_has_role, messages)) else []


def _has_role(message: Any) -> bool:
    return isinstance(message, dict) and is_role(message.get("role"))


def _role(message: dict[str, Any]) -> str:
    return role_named(message["role"])


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    return content if isinstance(content, dict) else {"content": content}
