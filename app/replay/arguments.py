"""Compares the arguments of two calls, path by path and by matchers: exactly, by their facts, or not at all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from msgspec import UNSET

from app.replay.compare import MOST_DIFFERENCES, Path, differences, equal, part_of
from app.replay.findings import Difference
from app.replay.fingerprints import json_of
from app.replay.matchers import Matcher
from app.replay.reader import Reader
from app.replay.texts.facts import Facts, compare_facts
from app.replay.texts.scalars import distance, letters
from app.replay.texts.sources import Sources
from app.values.budget import WorkBudget
from app.values.json_pointer import PointerTree, follow, format_pointer, parse_pointer

_FACTS = ("kept", "lost", "invented")

# The matchers by pointer, each with the number of its `*` and its place among the others.
RankedMatchers = PointerTree[tuple[int, int, Matcher]]
NO_POINTERS = PointerTree[Any]()
_Place = tuple[str | int, Any, Any, Sequence[RankedMatchers], Sequence[PointerTree[Any]]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a judge: if the new value at a path satisfies the assertion, as the recorded one does."""

    path: str
    assertion: str
    expected: Any
    actual: Any


@dataclass(frozen=True, slots=True)
class ArgumentsComparison:
    """The differences of two calls' arguments, the facts of their texts, None if none were compared, and questions.

    They are equal when there are neither differences nor questions.
    """

    differences: tuple[Difference, ...] = ()
    facts: Facts | None = None
    questions: tuple[Question, ...] = ()


def compare_arguments(
    recorded: Any,
    produced: Any,
    matchers: RankedMatchers,
    sources: Callable[[], Sources],
    *,
    subset: bool = False,
    ignored: PointerTree[Any] = NO_POINTERS,
    reader: Reader | None = None,
) -> ArgumentsComparison:
    """Compare the arguments of two calls: by the matchers where these name a place, and exactly elsewhere.

    Of several matchers that name one place, the one with the fewest `*` counts; what is `ignored`, or below that, has
    none. Where only one call has a value, the calls differ, unless by `any`; with `subset`, the new call may have more.
    `sources()` is called only where texts are compared by their facts. Raises `OverBudget` of the reader's budget.
    """
    reader = reader or Reader()
    budget = reader.budget
    others = differences(recorded, produced, subset=subset, ignored=(ignored, matchers), budget=budget)
    found = list(islice(others, MOST_DIFFERENCES))
    questions, facts = list[Question](), list[Facts]()
    for path, left, right, matcher in _places(recorded, produced, matchers, ignored, budget):
        if matcher.match == "any" or (subset and left is UNSET):
            continue
        if len(found) >= MOST_DIFFERENCES:
            break
        where = format_pointer(path)
        budget.read(where)
        if left is UNSET or right is UNSET:
            found.append(Difference(where, left, right))
        elif matcher.match == "ai":
            questions.append(Question(where, matcher.value, left, right))
        elif matcher.match == "facts" and isinstance(left, str) and isinstance(right, str):
            facts.append(compare_facts(left, right, sources(), keep_said=True))
            emptied = left.strip() and not right.strip()
            found += [Difference(where, left, right)] if emptied or not facts[-1].agree else []
        elif not _matches(matcher, left, right, reader):
            found.append(Difference(where, left, right))
    return ArgumentsComparison(tuple(found), join_facts(facts), tuple(questions))


def join_facts(parts: Sequence[Facts]) -> Facts | None:
    """Return the facts of several texts as one, each value once; None for no texts."""
    if not parts:
        return None
    return Facts(*(tuple(dict.fromkeys(text for part in parts for text in getattr(part, name))) for name in _FACTS))


def ranked(matchers: Mapping[str, Matcher]) -> RankedMatchers:
    """Return matchers by JSON pointer as `compare_arguments` reads them."""
    pointers = {parse_pointer(pointer): matcher for pointer, matcher in matchers.items()}
    return PointerTree({pointer: (pointer.count("*"), n, pointers[pointer]) for n, pointer in enumerate(pointers)})


def _places(
    recorded: Any, produced: Any, matchers: RankedMatchers, ignored: PointerTree[Any], budget: WorkBudget
) -> Iterator[tuple[Path, Any, Any, Matcher]]:
    """Yield the paths that pointers name, the values of both calls there, and the matcher with the fewest `*`."""
    places: list[tuple[tuple[int, int, Matcher], Path, Any, Any]] = []
    path: list[str | int] = []  # with a first part that stands for the arguments
    levels: list[Iterator[_Place]] = [iter([("", recorded, produced, [matchers], [ignored])])]
    while levels:
        place = next(levels[-1], None)
        if place is None:
            levels.pop()
            continue
        part, left, right, trees, without = place
        path[len(levels) - 1 :] = [part]
        budget.spend(1 + len(trees) + len(without))
        if not trees or any(tree.value is not None for tree in without):
            continue
        values = [tree.value for tree in trees if tree.value is not None]
        if values:
            places.append((min(values, key=_rank), tuple(path[1:]), left, right))
        parts = _parts(left, right, trees)
        budget.spend(len(parts))
        levels.append(_below(left, right, trees, without, parts))
    for (_, _, matcher), where, left, right in sorted(places, key=lambda place: _rank(place[0])):
        yield where, left, right, matcher


def _below(
    left: Any,
    right: Any,
    trees: Sequence[RankedMatchers],
    without: Sequence[PointerTree[Any]],
    parts: Iterable[str | int],
) -> Iterator[_Place]:
    for part in parts:
        yield part, part_of(left, part), part_of(right, part), follow(trees, part), follow(without, part)


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


def _matches(matcher: Matcher, recorded: Any, produced: Any, reader: Reader) -> bool:
    match matcher.match:
        case "text" if isinstance(recorded, str) and isinstance(produced, str):
            return letters(recorded, reader.budget) == letters(produced, reader.budget)
        case "number":
            apart = distance(recorded, produced, reader.budget)
            return apart is not None and apart <= Decimal(repr(matcher.tolerance))
        case "regex":
            text = produced if isinstance(produced, str) else json_of(produced, reader.budget)
            return reader.found(matcher.value, text)
        case "one_of":
            return any(equal(value, produced, reader.budget) for value in matcher.values)
        case "unordered" if isinstance(recorded, list) and isinstance(produced, list):
            return reader.fingerprints.same_entries(recorded, produced)
    return equal(recorded, produced, reader.budget)
