"""Finds the places of arguments that the JSON pointers of matchers name, and compares the values there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from app.replay.fingerprints import json_of
from app.replay.json_differences import Path, equal, part_of
from app.replay.matchers import Matcher
from app.replay.text_reader import TextReader
from app.replay.texts.scalars import distance, letters
from app.values.budget import WorkBudget
from app.values.composed import composed
from app.values.json_pointer import PointerTree, follow, parse_pointer
from app.values.unicode import nfc

# The matchers by pointer, each with the number of its `*` and its place among the others.
RankedMatchers = PointerTree[tuple[int, int, Matcher]]
_Place = tuple[str | int, Any, Any, Sequence[RankedMatchers], Sequence[PointerTree[Any]]]


def ranked(matchers: Mapping[str, Matcher]) -> RankedMatchers:
    """Return matchers by JSON pointer as `compare_arguments` reads them."""
    pointers = {parse_pointer(nfc(pointer)): matcher for pointer, matcher in matchers.items()}
    return PointerTree({pointer: (pointer.count("*"), n, pointers[pointer]) for n, pointer in enumerate(pointers)})


def matched_places(
    recorded: Any, produced: Any, matchers: RankedMatchers, ignored: PointerTree[Any], budget: WorkBudget
) -> Iterator[tuple[Path, Any, Any, Matcher]]:
    """Yield the paths that pointers name, the values of both calls there, and the matcher with the fewest `*`."""
    matched: list[tuple[tuple[int, int, Matcher], Path, Any, Any]] = []
    path: list[str | int] = []  # the first part is all of the arguments
    levels: list[Iterator[_Place]] = [iter([("", recorded, produced, [matchers], [ignored])])]
    while levels:
        place = next(levels[-1], None)
        if place is None:
            levels.pop()
            continue
        part, left, right, trees, ignored_trees = place
        path[len(levels) - 1 :] = [part]
        budget.spend(1 + len(trees) + len(ignored_trees))
        if not trees or any(tree.value is not None for tree in ignored_trees):
            continue
        values = [tree.value for tree in trees if tree.value is not None]
        if values:
            matched.append((min(values, key=_rank), tuple(path[1:]), left, right))
        parts = _parts(left, right, trees)
        budget.spend(len(parts))
        levels.append(_below(left, right, trees, ignored_trees, parts))
    for (_, _, matcher), where, left, right in sorted(matched, key=lambda place: _rank(place[0])):
        yield where, left, right, matcher


def _below(
    left: Any,
    right: Any,
    trees: Sequence[RankedMatchers],
    ignored_trees: Sequence[PointerTree[Any]],
    parts: Iterable[str | int],
) -> Iterator[_Place]:
    for part in parts:
        yield part, part_of(left, part), part_of(right, part), follow(trees, part), follow(ignored_trees, part)


def _parts(left: Any, right: Any, trees: Sequence[PointerTree[Any]]) -> list[str | int]:
    """Return the keys and indexes of one of the values, which may be of different kinds, to which a tree may lead."""
    if not any(tree.children for tree in trees):
        return []
    return list(dict.fromkeys(part for value in (left, right) for part in _parts_of(value)))


def _parts_of(value: Any) -> Iterable[str | int]:
    if isinstance(value, list):
        return range(len(value))
    return value if isinstance(value, dict) else ()


def _rank(value: tuple[int, int, Matcher]) -> tuple[int, int]:
    return value[:2]


def matches(matcher: Matcher, recorded: Any, produced: Any, reader: TextReader) -> bool:
    """Return whether a matcher accepts a value. Raises `OverBudget`."""
    match matcher.match:
        case "text" if isinstance(recorded, str) and isinstance(produced, str):
            return letters(recorded, reader.budget) == letters(produced, reader.budget)
        case "number":
            apart = distance(recorded, produced, reader.budget)
            return apart is not None and apart <= Decimal(repr(matcher.tolerance))
        case "regex":
            text = produced if isinstance(produced, str) else json_of(produced, reader.budget)
            return reader.matches_pattern(matcher.value, text)
        case "one_of":
            return any(equal(composed(value), produced, reader.budget) for value in matcher.values)
        case "unordered" if isinstance(recorded, list) and isinstance(produced, list):
            return reader.fingerprints.same_entries(recorded, produced)
    return equal(recorded, produced, reader.budget)
