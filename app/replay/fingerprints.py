"""Digests of JSON values, by which values are compared in any order and for their likeness, in counted steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

from app.json_schema.checker import canonical
from app.values.budget import UNLIMITED, WorkBudget

_DIGEST_SIZE = 16
_STEPS_PER_LEAF = 5
_STEPS_PER_PART = 2
_SORTED_PER_STEP = 8  # fingerprints that a step compares
_CHARACTERS_PER_STEP = 8  # characters that a step searches for words
_WORD = re.compile(r"\w++")


def json_of(value: Any, budget: WorkBudget, *, ensure_ascii: bool = True) -> str:
    """Return a value as JSON. Raises `OverBudget` before more is written than the budget allows."""
    pieces: list[str] = []
    for piece in json.JSONEncoder(ensure_ascii=ensure_ascii).iterencode(value):
        budget.read(piece)
        pieces.append(piece)
    return "".join(pieces)


def leaves(value: Any, budget: WorkBudget = UNLIMITED, form: Callable[[Any], Any] | None = None) -> frozenset[bytes]:
    """Return a digest of every scalar, in its `form`, and every empty container with its path, for `similarity`.

    They are digests because numbers, and tuples of numbers, can be chosen to collide in a set. Raises `OverBudget`.
    """
    digests = set[bytes]()
    levels: list[Iterator[tuple[bytes, Any]]] = [iter([(bytes(_DIGEST_SIZE), value)])]
    while levels:
        place = next(levels[-1], None)
        if place is None:
            levels.pop()
            continue
        path, part = place
        budget.spend(_STEPS_PER_PART)
        if isinstance(part, dict | list) and part:
            levels.append(_paths_below(path, part, budget))
        else:
            budget.spend(_STEPS_PER_LEAF)
            digests.add(_digest(path, f"={canonical(form(part) if form else part, budget)}"))
    return frozenset(digests)


def traits(value: Any, budget: WorkBudget = UNLIMITED) -> frozenset[bytes]:
    """Return the leaves of a value and the words of its texts, each with its path. Raises `OverBudget`."""
    digests = set(leaves(value, budget))
    pending: list[tuple[bytes, Any]] = [(bytes(_DIGEST_SIZE), value)]
    while pending:
        path, part = pending.pop()
        budget.spend(_STEPS_PER_PART)
        if isinstance(part, dict | list):
            pending += _paths_below(path, part, budget)
        elif isinstance(part, str):
            budget.spend(len(part) // _CHARACTERS_PER_STEP)
            for word in _WORD.findall(part):
                budget.spend(_STEPS_PER_LEAF)
                digests.add(_digest(path, f"~{word.casefold()}"))
    return frozenset(digests)


def _paths_below(path: bytes, part: Any, budget: WorkBudget) -> Iterator[tuple[bytes, Any]]:
    if isinstance(part, list):
        for index, child in enumerate(part):
            yield _digest(path, f"[{index}"), child
        return
    for key, child in part.items():
        budget.read(key)
        yield _digest(path, f".{key}"), child


def fingerprint(value: Any, budget: WorkBudget = UNLIMITED, form: Callable[[Any], Any] | None = None) -> bytes:
    """Return a digest that is the same for equal JSON values only. Raises `OverBudget`."""
    return blake2b(b"".join(sorted(leaves(value, budget, form))), digest_size=_DIGEST_SIZE).digest()


class Fingerprints:
    """The fingerprints of the entries of lists. Each list is read once, however many others it is compared with.

    With a `form`, scalars of the same form are equal.
    """

    def __init__(self, budget: WorkBudget, form: Callable[[Any], Any] | None = None) -> None:
        self._budget = budget
        self._form = form
        # By the ids of the lists, which are kept so that no other list gets them; the fingerprints in order and sorted.
        self._known: dict[int, tuple[list[Any], list[bytes], list[bytes]]] = {}

    def same_entries(self, left: list[Any], right: list[Any]) -> bool:
        """Return whether two lists have the same entries in any order. Raises `OverBudget`."""
        self._budget.spend(1)
        if len(left) != len(right):
            return False
        self._budget.spend(len(left) // _SORTED_PER_STEP)
        return self._of(left)[2] == self._of(right)[2]

    def in_other_order(self, left: list[Any], right: list[Any]) -> bool:
        """Return whether two lists have the same entries, and not in the same order. Raises `OverBudget`."""
        return self.same_entries(left, right) and self._of(left)[1] != self._of(right)[1]

    def _of(self, entries: list[Any]) -> tuple[list[Any], list[bytes], list[bytes]]:
        """Return the entries, which keeps their id in use, their fingerprints in order, and these sorted."""
        if id(entries) not in self._known:
            digests = [fingerprint(entry, self._budget, self._form) for entry in entries]
            self._known[id(entries)] = entries, digests, sorted(digests)
        return self._known[id(entries)]


def _digest(path: bytes, part: str) -> bytes:
    return blake2b(path + part.encode(errors="surrogatepass"), digest_size=_DIGEST_SIZE).digest()


def similarity(left: frozenset[bytes], right: frozenset[bytes]) -> float:
    """Return the share of leaves that two values have in common, 0 to 1 (Dice's coefficient)."""
    return 2 * len(left & right) / (len(left) + len(right))
