"""The roles of messages, in the spellings of vendors, frameworks and languages."""

from __future__ import annotations

from typing import Any

_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "bot", "chatbot"), "assistant"),
    **dict.fromkeys(("tool", "function", "ipython"), "tool"),
    **{name: name for name in ("system", "developer")},
}
_NAME_MAX = 64

NO_MODEL = ("user", "system", "developer", "tool")
"""The roles of messages that no model wrote: they contain no calls, even if something looks like one."""


INSTRUCTING = ("system", "developer")
"""The roles of messages with an instruction."""


def role_named(name: str) -> str:
    """Return the role that a name means in any spelling, such as `USER`, `Role.USER`, `AIMessageChunk` or `human`.

    Other names are returned unchanged.
    """
    if name in _ROLES or len(name) > _NAME_MAX:
        return _ROLES.get(name, name)
    plain = name.lower().rpartition(".")[2].removeprefix("role_").removesuffix("chunk").removesuffix("message")
    return _ROLES.get(plain, name)


def is_role(name: Any) -> bool:
    """Return whether a text names one of the roles."""
    return isinstance(name, str) and role_named(name) in _ROLES


def role_of(message: dict[str, Any]) -> str | None:
    """Return the role of a message, by its `role`, its event, its class or its type; None without any."""
    named = message.get("role")
    if isinstance(named, dict):  # .NET writes an object with the name
        named = next(iter(named.values()), None)
    if isinstance(named, str) and named:
        return role_named(named)
    event = message.get("event.name")
    if isinstance(event, str):
        return role_of_event(event)
    classes = message.get("id")
    if isinstance(classes, list) and classes and is_role(classes[-1]):
        return role_named(classes[-1])
    kind = message.get("type")
    # A definition of a tool has the type `function`, too, but no content.
    if not isinstance(kind, str) or (kind == "function" and "content" not in message):
        return None
    return role_named(kind) if is_role(kind) else None


def role_of_event(name: str) -> str | None:
    """Return the role of the author of a GenAI event's message, None for other events."""
    if name == "gen_ai.choice":
        return "assistant"
    middle = name.removeprefix("gen_ai.").removesuffix(".message")
    return role_named(middle) if name == f"gen_ai.{middle}.message" else None
