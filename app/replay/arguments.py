"""Compares the arguments of two calls, path by path: by matchers, by the tool's schema, and by the kinds of texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from msgspec import UNSET

from app.replay.compare import MOST_DIFFERENCES, Path, differences, equal, part_of
from app.replay.findings import Difference
from app.replay.fingerprints import json_of
from app.replay.forms import path_form, same_instant, scalar_form
from app.replay.kinds import kind_of, schema_at
from app.replay.matchers import Matcher
from app.replay.reader import Reader
from app.replay.texts.facts import Facts, compare_facts
from app.replay.texts.scalars import distance, letters
from app.replay.texts.sources import Sources
from app.replay.types import Effect, StringKind
from app.values.budget import WorkBudget
from app.values.json_pointer import PointerTree, follow, format_pointer, parse_pointer

_FACTS = ("kept", "lost", "invented")
_SCHEMA_STEPS = 10  # to find the schema of a place

# The matchers by pointer, each with the number of its `*` and its place among the others.
RankedMatchers = PointerTree[tuple[int, int, Matcher]]
NO_POINTERS = PointerTree[Any]()
_Place = tuple[str | int, Any, Any, Sequence[RankedMatchers], Sequence[PointerTree[Any]]]

# What a judge is asked about texts of a kind, as a part of a sentence.
_WORDED = {"code": "other code", "prose": "other words", "search": "other words of a search"}


class OpenDifference(Difference, frozen=True):
    """A difference that only a reader can weigh; `note` names what kind of difference it is.

    With an `assertion`, the question is whether the new value satisfies it.
    """

    note: str = ""
    assertion: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentsComparison:
    """The differences of two calls' arguments, those that are open, and the facts of their texts, if any were compared.

    The arguments are equal when there are neither.
    """

    differences: tuple[Difference, ...] = ()
    open: tuple[OpenDifference, ...] = ()
    facts: Facts | None = None


@dataclass(frozen=True, slots=True)
class CallRules:
    """What is known about the arguments of a call: its effect, the schema, and kinds of texts by JSON pointer."""

    effect: Effect = "write"
    schema: Mapping[str, Any] = field(default_factory=dict)
    kinds: PointerTree[StringKind] = NO_POINTERS


def compare_arguments(
    recorded: Any,
    produced: Any,
    matchers: RankedMatchers,
    sources: Callable[[], Sources],
    *,
    rules: CallRules = CallRules(),
    subset: bool = False,
    ignored: PointerTree[Any] = NO_POINTERS,
    reader: Reader | None = None,
    evidence: bool = True,
) -> ArgumentsComparison:
    """Compare the arguments of two calls: by the matchers where these name a place, and by `rules` elsewhere.

    Of several matchers that name one place, the one with the fewest `*` counts; what is `ignored`, or below that, has
    none. Where only one call has a value, the calls differ, unless by `any`; with `subset`, the new call may have more.
    `sources()` is called only where texts are compared by their facts: for a matcher, or as `evidence`. Raises
    `OverBudget` of the reader's budget.
    """
    reader = reader or Reader()
    budget = reader.budget
    weighing = _Weighing(recorded, produced, rules, reader, sources, evidence=evidence)
    others = differences(recorded, produced, subset=subset, ignored=(ignored, matchers), budget=budget)
    for difference in others:
        weighing.weigh(difference)
        if weighing.is_full:
            break
    for path, left, right, matcher in _places(recorded, produced, matchers, ignored, budget):
        if matcher.match == "any" or (subset and left is UNSET):
            continue
        if weighing.is_full:
            break
        where = format_pointer(path)
        budget.read(where)
        weighing.match(where, left, right, matcher)
    return ArgumentsComparison(tuple(weighing.failed), tuple(weighing.open), join_facts(weighing.facts))


class _Weighing:
    """Sorts differences into those that fail and those that are open."""

    def __init__(
        self,
        recorded: Any,
        produced: Any,
        rules: CallRules,
        reader: Reader,
        sources: Callable[[], Sources],
        *,
        evidence: bool,
    ) -> None:
        self.failed, self.open, self.facts = list[Difference](), list[OpenDifference](), list[Facts]()
        self._recorded, self._produced = recorded, produced
        self._rules, self._reader, self._sources, self._evidence = rules, reader, sources, evidence
        self._lists: dict[str, bool] = {}  # whether a list, by pointer, has the same entries in another order

    @property
    def is_full(self) -> bool:
        return len(self.failed) + len(self.open) >= MOST_DIFFERENCES

    def match(self, where: str, left: Any, right: Any, matcher: Matcher) -> None:
        """Compare the values at a place that a matcher names."""
        if left is UNSET or right is UNSET:
            self.failed.append(Difference(where, left, right))
        elif matcher.match == "ai":
            self.open.append(OpenDifference(where, left, right, "", matcher.value))
        elif matcher.match == "facts" and isinstance(left, str) and isinstance(right, str):
            facts = self._compare_facts(left, right)
            if not facts.agree or (left.strip() and not right.strip()):
                self.failed.append(Difference(where, left, right))
        elif not _matches(matcher, left, right, self._reader):
            self.failed.append(Difference(where, left, right))

    def weigh(self, difference: Difference) -> None:
        """Decide whether a difference is none, fails, or is open."""
        path = parse_pointer(difference.path)
        self._reader.budget.spend(1 + len(path))
        if self._is_in_other_order(path):
            return
        left, right = difference.expected, difference.actual
        self._reader.budget.spend(_SCHEMA_STEPS + len(path))
        schema = schema_at(self._rules.schema, path)
        if UNSET in (left, right):
            given = right if left is UNSET else left
            if "default" in schema and equal(schema["default"], given, self._reader.budget):
                return
            if given is None:
                self._add(difference, "null in one call, and left out of the other")
                return
        elif schema.get("format") == "date-time" and same_instant(left, right):
            return
        elif note := self._note(path, schema, left, right):
            self._add(difference, note)
            return
        self.failed.append(difference)

    def _note(self, path: tuple[str, ...], schema: Mapping[str, Any], left: Any, right: Any) -> str:
        """Return how two values differ that a reader may find equal; "" if they are simply different."""
        budget = self._reader.budget
        for side in (left, right):
            if isinstance(side, str):
                budget.spend(1 + len(side))
        kind = self._kind(path, schema, left, right) if isinstance(left, str) and isinstance(right, str) else "value"
        if kind == "code":
            if path_form(left) == path_form(right):
                return "the same path, written differently"
            return _WORDED[kind] if self._rules.effect == "read" else ""
        if not isinstance(left, dict | list) and scalar_form(left) == scalar_form(right):
            return "the same value in another form"
        if kind == "value" or not left.strip() or not right.strip():
            return ""
        if self._evidence:
            self._compare_facts(left, right)
        return _WORDED[kind]

    def _kind(self, path: tuple[str, ...], schema: Mapping[str, Any], left: str, right: str) -> StringKind:
        """Return the kind that the test case sets, else code if one of the texts is, else that of the recorded one."""
        trees = [self._rules.kinds]
        for token in path:
            trees = follow(trees, int(token) if token.isdecimal() else token)
        if kinds := [tree.value for tree in trees if tree.value is not None]:
            return kinds[0]
        key = next((token for token in reversed(path) if not token.isdecimal()), "")
        recorded, produced = (kind_of(key, schema, text, self._rules.effect) for text in (left, right))
        return "code" if produced == "code" else recorded

    def _is_in_other_order(self, path: tuple[str, ...]) -> bool:
        """Return True if the path leads into lists that have the same entries in another order; adds the outermost."""
        left, right = self._recorded, self._produced
        for depth, token in enumerate(path):
            if isinstance(left, list) and isinstance(right, list):
                where = format_pointer(path[:depth])
                if where not in self._lists:
                    self._lists[where] = self._reader.forms.same_entries(left, right)
                    if self._lists[where]:
                        self._add(Difference(where, left, right), "the same entries in another order")
                if self._lists[where]:
                    return True
                left, right = (part_of(side, int(token)) for side in (left, right))
            else:
                left, right = part_of(left, token), part_of(right, token)
        return False

    def _add(self, difference: Difference, note: str) -> None:
        self.open.append(OpenDifference(difference.path, difference.expected, difference.actual, note))

    def _compare_facts(self, left: str, right: str) -> Facts:
        self.facts.append(compare_facts(left, right, self._sources(), keep_said=True))
        return self.facts[-1]


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
