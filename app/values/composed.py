"""Brings the texts and keys of JSON values to Unicode's form NFC."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from app.values.budget import UNLIMITED, WorkBudget
from app.values.unicode import nfc


def composed(value: Any, budget: WorkBudget = UNLIMITED) -> Any:
    """Return a JSON value with its texts and keys in Unicode's form NFC: others may look the same and differ.

    A value that has only ASCII, or only one form, is returned itself. Keys that would become equal stay.
    Raises `OverBudget`.
    """
    if not _has_others(value, budget):
        return value
    root = [value]
    pending: list[tuple[Any, Any]] = [(root, 0)]
    while pending:
        holder, place = pending.pop()
        part = holder[place]
        if isinstance(part, str):
            holder[place] = nfc(part)
        elif isinstance(part, list):
            holder[place] = copy = [*part]
            pending += ((copy, index) for index in range(len(copy)))
        elif isinstance(part, dict):
            keys = {nfc(key): inner for key, inner in part.items()}
            holder[place] = keys = keys if len(keys) == len(part) else {**part}
            pending += ((keys, key) for key in keys)
    return root[0]


def _has_others(value: Any, budget: WorkBudget) -> bool:
    """Return whether a text or a key is not in the form NFC."""
    levels: list[Iterator[Any]] = [iter((value,))]
    while levels:
        for part in levels[-1]:
            budget.spend(1)
            if isinstance(part, str):
                if part.isascii():
                    continue
                budget.read(part)
                if nfc(part) != part:
                    return True
            elif isinstance(part, (list, dict)):
                levels.append(chain(part, part.values()) if isinstance(part, dict) else iter(part))
                break
        else:
            levels.pop()
    return False
