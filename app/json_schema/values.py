"""JSON values as JSON Schema compares them and as messages show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.meter import Meter

SHOWN = 200  # characters of a value in a message


def is_type(value: Any, name: str) -> bool:
    """Return whether a value is of the JSON Schema type `name`; 1.0 is an integer, true is no number."""
    match name:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return name == "null" and value is None


def canonical(value: Any, meter: Meter) -> str:
    """One text for all values that JSON Schema takes for equal: 1 equals 1.0, true does not, key order is free.

    A text, because Python hashes texts with a secret: numbers and tuples can be chosen to collide in a set.
    """
    if isinstance(value, str):
        meter.read(value)
        return f"{len(value)}:{value}"
    meter.spend(1)
    if isinstance(value, list):
        return f"[{','.join([canonical(each, meter) for each in value])}]"
    if isinstance(value, dict):
        return f"{{{','.join([canonical(key, meter) + canonical(value[key], meter) for key in sorted(value)])}}}"
    if isinstance(value, float) and value.is_integer():
        return hex(int(value))
    return repr(value) if value is None or isinstance(value, bool | float) else hex(value)


def shown(value: Any) -> str:
    """`repr(value)`, cut off after its first characters without a look at the rest."""
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value):
        pieces.append(piece)
        length += len(piece)
        if length > SHOWN:
            return f"{''.join(pieces)[:SHOWN]}…"
    return "".join(pieces)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for at, (key, inner) in enumerate(value.items()):
            yield f"{', ' if at else ''}{_scalar(key)}: "
            yield from _pieces(inner)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for at, inner in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(inner)
        yield "]"
    else:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    return repr(value[: SHOWN + 1] if isinstance(value, str) else value)
