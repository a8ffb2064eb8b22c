"""Aligns texts that were made from one template: what all of them share, and the parts in which they differ.

Words that occur exactly once in every text anchor the alignment (patience diff), again within each gap. The work is
linear in the texts, but for the logarithm of sorting.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from reprise_formats.placeholders import PLACEHOLDER

from app.values.rising import longest_rising

DEPTH_MAX = 6
"""Searches for anchors within gaps of gaps."""
_URL = r"https?://[^\s\"'<>()]*[\w/]"
_TOKENS = re.compile(rf"{PLACEHOLDER.pattern}|{_URL}|[^\W_]\w*(?:[-.:/@+]\w+)*|\n|[^\S\n]+|.", re.DOTALL)
_WORD = re.compile(r"\w")
_SHORT = 3
"""The most words of a value that one word, such as "to" in a period, may separate from the next value."""

Tokens = Sequence[str]
Bounds = list[tuple[int, int]]
"""The start and end of a stretch in each text."""


@dataclass(frozen=True, slots=True)
class AlignedPart:
    """A piece of all texts, in their order. It is shared, or it varies."""

    texts: tuple[str, ...]

    @property
    def varies(self) -> bool:
        return any(text != self.texts[0] for text in self.texts)


def align(texts: Sequence[str]) -> list[AlignedPart]:
    """Return the parts of the texts in order; each text is the concatenation of its pieces."""
    rows = [[match[0] for match in _TOKENS.finditer(text)] for text in texts]
    parts: list[AlignedPart] = []
    for bounds in _stretches(rows, [(0, len(row)) for row in rows], DEPTH_MAX):
        pieces = ("".join(row[start:end]) for row, (start, end) in zip(rows, bounds, strict=True))
        parts.append(AlignedPart(tuple(pieces)))
    written = (part for part in parts if any(part.texts))
    alternating = [_joined(list(group)) for _, group in groupby(written, key=lambda part: part.varies)]
    return _without_chance_matches(alternating)


def are_similar(text: str, other: str) -> bool:
    """Return whether the texts share at least half of the words of the longer one."""
    words, others = Counter(_words(text)), Counter(_words(other))
    return 2 * (words & others).total() >= max(words.total(), others.total())


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKENS.finditer(text) if _WORD.search(match[0]))


def _stretches(rows: Sequence[Tokens], bounds: Bounds, depth: int) -> Iterator[Bounds]:
    """Yield the stretches that are equal in all texts, and the others between them."""
    begins, ends = _common_ends(rows, bounds)
    yield [(start, start + begins) for start, _ in bounds]
    yield from _between(rows, [(start + begins, end - ends) for start, end in bounds], depth)
    yield [(end - ends, end) for _, end in bounds]


def _between(rows: Sequence[Tokens], gap: Bounds, depth: int) -> Iterator[Bounds]:
    anchors = _anchors(rows, gap) if depth else []
    if not anchors:
        yield gap
        return
    starts = [start for start, _ in gap]
    for positions in anchors:
        yield from _stretches(rows, list(zip(starts, positions, strict=True)), depth - 1)
        yield [(position, position + 1) for position in positions]
        starts = [position + 1 for position in positions]
    yield from _stretches(rows, [(start, end) for start, (_, end) in zip(starts, gap, strict=True)], depth - 1)


def _common_ends(rows: Sequence[Tokens], bounds: Bounds) -> tuple[int, int]:
    """Return how many tokens are equal in all texts at the beginning and at the end of a stretch."""
    first, (start, end) = rows[0], bounds[0]
    length = min(stop - begin for begin, stop in bounds)
    others = list(zip(rows, bounds, strict=True))[1:]
    begins = 0
    while begins < length and all(row[low + begins] == first[start + begins] for row, (low, _) in others):
        begins += 1
    ends = 0
    while ends < length - begins and all(row[high - 1 - ends] == first[end - 1 - ends] for row, (_, high) in others):
        ends += 1
    return begins, ends


def _anchors(rows: Sequence[Tokens], gap: Bounds) -> list[list[int]]:
    """Return the positions of words that each text has once within the gap, in an order that all texts share."""
    places = [_unique(row, start, end) for row, (start, end) in zip(rows, gap, strict=True)]
    shared = set(places[0]).intersection(*places[1:]) if places else set()
    words = sorted(shared, key=places[0].__getitem__)
    for positions in places[1:]:
        words = [words[index] for index in longest_rising([positions[word] for word in words])]
    return [[positions[word] for positions in places] for word in words]


def _unique(row: Tokens, start: int, end: int) -> dict[str, int]:
    counts = Counter(row[start:end])
    return {row[at]: at for at in range(start, end) if counts[row[at]] == 1 and _WORD.search(row[at])}


def _without_chance_matches(parts: Sequence[AlignedPart]) -> list[AlignedPart]:
    """Join varying parts that only a word or two separate, which free texts may share by chance."""
    groups: list[list[AlignedPart]] = []
    words = 0
    for index, part in enumerate(parts):
        longest = max(map(_word_count, part.texts)) if part.varies else 0
        if index > 1 and part.varies and _is_chance(parts[index - 1].texts[0], max(words, longest)):
            separator = groups.pop()
            groups[-1] += [*separator, part]
            words += longest
        else:
            groups.append([part])
            words = longest if part.varies else words
    return [_joined(group) for group in groups]


def _is_chance(separator: str, longest: int) -> bool:
    """Return whether the texts may share a separator by chance; the values around it have up to `longest` words."""
    words = _word_count(separator)
    if "\n" in separator or words >= _SHORT:
        return False
    return not words or (longest > _SHORT and not any(mark in separator for mark in ":="))


def _word_count(text: str) -> int:
    return sum(1 for _ in _words(text))


def _joined(parts: Sequence[AlignedPart]) -> AlignedPart:
    return AlignedPart(tuple(map("".join, zip(*(part.texts for part in parts), strict=True))))
