"""Compares the arguments of two calls, path by path, as matchers say: exactly, by their facts, or not at all."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from msgspec import UNSET

from app.patterns import found
from app.pointers import Pointer, format_pointer, parse_pointer
from app.replay.compare import Path, differences, equal, leaves, names
from app.replay.facts import Facts, compare_facts
from app.replay.findings import Difference
from app.replay.matchers import Matcher
from app.replay.scalars import distance, letters
from app.replay.sources import Sources

_FACTS = ("kept", "lost", "invented")


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
    matchers: Mapping[str, Matcher],
    sources: Callable[[], Sources],
    *,
    subset: bool = False,
    ignored: Sequence[Pointer] = (),
) -> ArgumentsComparison:
    """Compare the arguments of two calls: by the matchers where these name a place, and exactly elsewhere.

    Of several matchers that name one place, the one with the fewest `*` counts; what is `ignored`, or below that, has
    none. Where only one call has a value, the calls differ, unless by `any`; with `subset`, the new call may have more.
    `sources()` is called only where texts are compared by their facts.
    """
    pointers = {parse_pointer(pointer): matcher for pointer, matcher in matchers.items()}
    found_differences = list(differences(recorded, produced, subset=subset, ignored=[*ignored, *pointers]))
    questions, facts = list[Question](), list[Facts]()
    for path, matcher in _places(pointers, (recorded, produced), ignored).items():
        left, right, where = _at(recorded, path), _at(produced, path), format_pointer(path)
        if matcher.match == "any" or (subset and left is UNSET):
            continue
        if left is UNSET or right is UNSET:
            found_differences.append(Difference(where, left, right))
        elif matcher.match == "ai":
            questions.append(Question(where, matcher.value, left, right))
        elif matcher.match == "facts" and isinstance(left, str) and isinstance(right, str):
            facts.append(compare_facts(left, right, sources(), keep_said=True))
            emptied = left.strip() and not right.strip()
            found_differences += [Difference(where, left, right)] if emptied or not facts[-1].agree else []
        elif not _matches(matcher, left, right):
            found_differences.append(Difference(where, left, right))
    return ArgumentsComparison(tuple(found_differences), join_facts(facts), tuple(questions))


def join_facts(parts: Sequence[Facts]) -> Facts | None:
    """Return the facts of several texts as one, each value once; None for no texts."""
    if not parts:
        return None
    return Facts(*(tuple(dict.fromkeys(text for part in parts for text in getattr(part, name))) for name in _FACTS))


def _places(
    pointers: Mapping[Pointer, Matcher], values: Sequence[Any], ignored: Sequence[Pointer]
) -> dict[Path, Matcher]:
    """Return the paths of one of the values that pointers name, each with its matcher."""
    places: dict[Path, Matcher] = {}
    for pointer in sorted(pointers, key=_count_stars):
        for path in dict.fromkeys(path for value in values for path in _paths(value, pointer)):
            if not any(names(other, path[: len(other)]) for other in ignored):
                places.setdefault(path, pointers[pointer])
    return places


def _paths(value: Any, pointer: Pointer) -> Iterator[Path]:
    """Yield the paths of a value that a pointer names."""
    level: list[tuple[Path, Any]] = [((), value)]
    for token in pointer:
        level = [((*path, key), child) for path, parent in level for key, child in _children(parent, token)]
    yield from (path for path, _ in level)


def _children(parent: Any, token: str) -> Iterator[tuple[str | int, Any]]:
    if isinstance(parent, dict) and token in parent:
        yield token, parent[token]
    elif isinstance(parent, list) and token == "*":  # noqa: S105 - no password
        yield from enumerate(parent)
    elif isinstance(parent, list) and token.isdecimal() and token.isascii() and len(token) < 10:
        index = int(token)
        if str(index) == token and index < len(parent):
            yield index, parent[index]


def _count_stars(pointer: Pointer) -> int:
    return pointer.count("*")


def _at(value: Any, path: Path) -> Any:
    """Return the part of a value at a path, UNSET where it has none."""
    for key in path:
        child = dict(_children(value, str(key))).get(key, UNSET)
        if child is UNSET:
            return UNSET
        value = child
    return value


def _matches(matcher: Matcher, recorded: Any, produced: Any) -> bool:
    match matcher.match:
        case "text":
            both_texts = isinstance(recorded, str) and isinstance(produced, str)
            return letters(recorded) == letters(produced) if both_texts else equal(recorded, produced)
        case "number":
            apart = distance(recorded, produced)
            return apart is not None and apart <= Decimal(repr(matcher.tolerance))
        case "regex":
            return found(matcher.value, produced if isinstance(produced, str) else json.dumps(produced))
        case "one_of":
            return any(equal(value, produced) for value in matcher.values)
        case "unordered":
            both_lists = isinstance(recorded, list) and isinstance(produced, list)
            return _counted(recorded) == _counted(produced) if both_lists else equal(recorded, produced)
    return equal(recorded, produced)


def _counted(values: list[Any]) -> Counter[frozenset[Any]]:
    return Counter(map(leaves, values))
