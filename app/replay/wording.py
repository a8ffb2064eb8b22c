"""Words differences for the messages of verdicts and violations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from app.replay.result_types import Difference

MOST_LISTED = 3
WHOLE = 300  # characters of a value that a message shows whole
_BEFORE, _BEHIND = 60, 200  # characters that are shown around the place at which longer values differ


def differing(differences: Sequence[Difference]) -> str:
    """Return where two calls or documents differ, each place with both values: `amount is 5, recorded was 4`."""
    shown = [_place(difference) for difference in differences[:MOST_LISTED]]
    more = len(differences) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def listed(values: Sequence[str]) -> str:
    """Return the first five values as a list in a sentence, with "and others" if there are more."""
    return ", ".join(values[:5]) + (" and others" if len(values) > 5 else "")


def shown_json(value: Any) -> str:
    """Return a value as a message shows it: JSON, whole or its beginning."""
    return _cut(json.dumps(value, ensure_ascii=False), 0)


def _place(difference: Difference) -> str:
    name = difference.path.removeprefix("/") or "the value"
    recorded, produced = difference.expected, difference.actual
    if produced is UNSET:
        return f"{name} is missing, recorded was {shown_json(recorded)}"
    if recorded is UNSET:
        return f"{name} is new, {shown_json(produced)}"
    texts = [json.dumps(side, ensure_ascii=False) for side in (recorded, produced)]
    start = _first_difference(*texts)
    return f"{name} is {_cut(texts[1], start)}, recorded was {_cut(texts[0], start)}"


def _first_difference(first: str, other: str) -> int:
    """Return the place at which two texts differ first, by halving: no loop visits each character."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, place: int) -> str:
    """Return a text, or of a long one the part around a place."""
    if len(text) <= WHOLE:
        return text
    start = max(0, min(place - _BEFORE, len(text) - WHOLE))
    end = start + _BEFORE + _BEHIND
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
