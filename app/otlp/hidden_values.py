"""Finds values that a reader of JSON, or of an AnyValue, does not see: masking does not see them either."""

from __future__ import annotations

import json
from typing import Any


class _Repeated(Exception):
    pass


def repeats_a_key(text: str) -> bool:
    """Return whether an object in a JSON text has a key twice: only its last value is read.

    Also true for text that only a lenient reader accepts.
    """
    try:
        json.loads(text, object_pairs_hook=_require_different, parse_int=str, parse_float=str, strict=False)
    except (_Repeated, ValueError, RecursionError):
        return True
    return False


def _require_different(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _Repeated


def hides_a_value(value: Any) -> bool:
    """Return whether an AnyValue has more than one field, or a key twice, of which only one is read."""
    pending = [value]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict):
            continue
        if len(part) > 1:
            return True
        for listed in part.values():
            entries = listed.get("values") if isinstance(listed, dict) else None
            if isinstance(entries, list):
                pairs = [entry for entry in entries if isinstance(entry, dict) and "key" in entry]
                if len({str(pair["key"]) for pair in pairs}) < len(pairs):
                    return True
                pending += [
                    entry.get("value") if "key" in entry else entry for entry in entries if isinstance(entry, dict)
                ]
    return False
