"""Emphasis: which `*` and `_` are markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Delimiter:
    """One `*` or `_` of a run of them; `run` is where the run begins, `piece` the index of the character's piece."""

    mark: str
    run: int
    run_length: int
    opens: bool
    closes: bool
    piece: int


def paired(delimiters: Sequence[Delimiter]) -> list[int]:
    """Return the pieces that are markup, by CommonMark's rules of emphasis; needs time quadratic in the delimiters."""
    openers: list[Delimiter] = []
    pieces: list[int] = []
    for closer in delimiters:
        index = _opener_of(closer, openers) if closer.closes else -1
        if index >= 0:
            pieces += [openers[index].piece, closer.piece]
            del openers[index:]
        elif closer.opens:
            openers.append(closer)
    return pieces


def _opener_of(closer: Delimiter, openers: Sequence[Delimiter]) -> int:
    """Return the index of the last opener that the closer matches; -1 if there is none."""
    for index in range(len(openers) - 1, -1, -1):
        opener = openers[index]
        if opener.mark == closer.mark and opener.run != closer.run and not _is_odd(opener, closer):
            return index
    return -1


def _is_odd(opener: Delimiter, closer: Delimiter) -> bool:
    """Return whether the rule of three forbids the pair."""
    lengths = opener.run_length, closer.run_length
    both_ways = opener.closes or closer.opens
    return both_ways and sum(lengths) % 3 == 0 and any(length % 3 for length in lengths)
