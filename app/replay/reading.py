"""Reading dataclasses out of JSON that a user wrote; what is wrong is named by its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar

from app.errors import Invalid

Value = TypeVar("Value")


def fields(raw: object, path: str, known: Set[str], required: Set[str] = frozenset()) -> dict[str, Any]:
    """The fields of an object. Raises `Invalid` for another type, an unknown or a missing field."""
    if not isinstance(raw, Mapping):
        raise Invalid(f"{path or 'body'}: must be an object")
    for name in raw:
        if name not in known:
            raise Invalid(f"{at(path, name)}: unknown field")
    for name in sorted(required):
        if name not in raw:
            raise Invalid(f"{at(path, name)}: is required")
    return dict(raw)


def items(raw: object, path: str, read: Callable[[Any, str], Value]) -> tuple[Value, ...]:
    """A list, each entry read with its own path."""
    if not isinstance(raw, list | tuple):
        raise Invalid(f"{path}: must be a list")
    return tuple(read(entry, at(path, place)) for place, entry in enumerate(raw))


def text(raw: object, path: str) -> str:
    if not isinstance(raw, str):
        raise Invalid(f"{path}: must be a string")
    return raw


def text_or_null(raw: object, path: str) -> str | None:
    return None if raw is None else text(raw, path)


def boolean(raw: object, path: str) -> bool:
    if not isinstance(raw, bool):
        raise Invalid(f"{path}: must be true or false")
    return raw


def choice(raw: object, path: str, choices: tuple[str, ...]) -> Any:
    """One of `choices`, as it is; the caller knows which literal type that makes it."""
    if not isinstance(raw, str) or raw not in choices:
        raise Invalid(f"{path}: must be one of {', '.join(choices)}")
    return raw


def whole_number(raw: object, path: str, low: int, high: int) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
        raise Invalid(f"{path}: must be a whole number from {low} to {high}")
    return raw


def index(raw: object, path: str, count: int) -> int:
    """A place in a list of `count`, from 0."""
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw < count:
        raise Invalid(f"{path}: there are {count}, counted from 0")
    return raw


def at(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)
