"""JSON of what an application passes to its tools and gets from them, whatever that is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Set
from typing import Any


def to_json(value: Any) -> str:
    """Return JSON text; a value that JSON has no form for is its text, or the name of its type. Never raises."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except Exception:  # noqa: BLE001 - values of the application may raise anything when they are read
        return json.dumps(f"<{type(value).__name__}>")


def to_content(value: Any) -> str:
    """Return a text unchanged, and anything else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)):
        return dump()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Set) else str(value)
