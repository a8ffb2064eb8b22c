"""Compares the arguments of two calls, path by path: by matchers, by the tool's schema, and by the kinds of texts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import UNSET

from app.replay.argument_notes import SCHEMA_STEPS, ArgumentNotes
from app.replay.call_forms import call_note
from app.replay.case_types import Effect, StringKind
from app.replay.json_differences import MOST_DIFFERENCES, differences, equal, part_of
from app.replay.matcher_places import RankedMatchers, matched_places, matches
from app.replay.matchers import Matcher
from app.replay.result_types import Difference
from app.replay.scalar_forms import same_instant
from app.replay.schedules import same_rule
from app.replay.tables import words
from app.replay.text_kinds import edits_document, key_of, kind_of, schema_at, words_of
from app.replay.text_reader import TextReader
from app.replay.texts.facts import Facts, compare_facts
from app.replay.texts.sources import Sources
from app.values.json_pointer import PointerTree, follow, format_pointer, is_index, parse_pointer

_FACTS = ("kept", "lost", "invented")

_PLACES = words("keys", "places")
NO_POINTERS = PointerTree[Any]()


class OpenDifference(Difference, frozen=True):
    """A difference that only a judge or a person can weigh; `note` names what kind of difference it is.

    With an `assertion`, the question is whether the new value satisfies it.
    """

    note: str = ""
    assertion: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentsComparison:
    """The differences of two calls' arguments, the open differences, and the facts of compared texts.

    The arguments are equal when there are neither. `by_matcher` is true if a matcher has refused a value.
    """

    differences: tuple[Difference, ...] = ()
    open: tuple[OpenDifference, ...] = ()
    facts: Facts | None = None
    by_matcher: bool = False


@dataclass(frozen=True, slots=True)
class CallRules:
    """What is known about the arguments of a call: its tool, effect, schema, and kinds of texts by JSON pointer."""

    effect: Effect = "write"
    schema: Mapping[str, Any] = field(default_factory=dict)
    kinds: PointerTree[StringKind] = NO_POINTERS
    name: str = ""


def compare_arguments(
    recorded: Any,
    produced: Any,
    matchers: RankedMatchers,
    sources: Callable[[], Sources],
    *,
    rules: CallRules = CallRules(),
    subset: bool = False,
    ignored: PointerTree[Any] = NO_POINTERS,
    reader: TextReader | None = None,
    evidence: bool = True,
) -> ArgumentsComparison:
    """Compare the arguments of two calls: by the matchers where these name a place, and by `rules` elsewhere.

    Of several matchers that name one place, the one with the fewest `*` counts; what is `ignored`, or below that, has
    none. Where only one call has a value, the calls differ, unless by `any`; with `subset`, the new call may have more.
    `sources()` is called only where texts are compared by their facts: for a matcher, or as `evidence`. Raises
    `OverBudget` of the reader's budget.
    """
    reader = reader or TextReader()
    budget = reader.budget
    recorded, produced = reader.composed(recorded), reader.composed(produced)
    weighing = _Weighing(recorded, produced, rules, reader, sources, evidence=evidence)
    others = differences(recorded, produced, subset=subset, ignored=(ignored, matchers), budget=budget)
    for difference in others:
        weighing.weigh(difference)
        if weighing.is_full:
            break
    if weighing.failed and (note := call_note(rules.name, recorded, produced, budget)):
        weighing.leave_open(note)
    others_failed = len(weighing.failed)
    for path, left, right, matcher in matched_places(recorded, produced, matchers, ignored, budget):
        if matcher.match == "any" or (subset and left is UNSET):
            continue
        if weighing.is_full:
            break
        where = format_pointer(path)
        budget.read(where)
        weighing.match(where, left, right, matcher)
    failed, by_matcher = tuple(weighing.failed), len(weighing.failed) > others_failed
    return ArgumentsComparison(failed, tuple(weighing.open), join_facts(weighing.facts), by_matcher)


class _Weighing:
    """Sorts the differences of two calls: a difference fails, or it is open for a judge."""

    def __init__(
        self,
        recorded: Any,
        produced: Any,
        rules: CallRules,
        reader: TextReader,
        sources: Callable[[], Sources],
        *,
        evidence: bool,
    ) -> None:
        self.failed, self.open, self.facts = list[Difference](), list[OpenDifference](), list[Facts]()
        self._recorded, self._produced = recorded, produced
        self._rules, self._reader, self._sources, self._evidence = rules, reader, sources, evidence
        self._notes = ArgumentNotes(rules.schema, rules.effect, (recorded, produced), reader)
        self._lists: dict[tuple[str, ...], bool] = {}  # whether a list, by its path, has a note

    @cached_property
    def _in_document(self) -> bool:
        return edits_document(self._recorded) and edits_document(self._produced)

    @property
    def is_full(self) -> bool:
        return len(self.failed) >= MOST_DIFFERENCES

    def leave_open(self, note: str) -> None:
        """Leave all failed differences to a judge: together, they are only another way to write the call."""
        self.open += [OpenDifference(part.path, part.expected, part.actual, note) for part in self.failed]
        self.failed.clear()

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
        elif not matches(matcher, left, right, self._reader):
            self.failed.append(Difference(where, left, right))

    def weigh(self, difference: Difference) -> None:
        """Decide whether a difference is none, fails, or is open."""
        path = parse_pointer(difference.path)
        self._reader.budget.spend(1 + len(path))
        if self._is_in_other_order(path):
            return
        left, right = difference.expected, difference.actual
        self._reader.budget.spend(SCHEMA_STEPS + len(path))
        schema = schema_at(self._rules.schema, path)
        if UNSET in (left, right):
            given = right if left is UNSET else left
            if "default" in schema and equal(schema["default"], given, self._reader.budget):
                return
            if note := self._notes.note_on_extra(path, given):
                self._add(difference, note)
                return
        elif _is_equal(schema, left, right):
            return
        elif note := self._note(path, schema, left, right):
            self._add(difference, note)
            return
        self.failed.append(difference)

    def _note(self, path: tuple[str, ...], schema: Mapping[str, Any], left: Any, right: Any) -> str:
        """Return how two values differ that a judge may find equal; "" if they are simply different."""
        if not isinstance(left, str) or not isinstance(right, str):
            return self._notes.note_on_values(path, left, right)
        kind = self._kind(path, schema, left, right)
        note = self._notes.note_on_texts(path, kind, left, right)
        if note and self._evidence and kind in ("prose", "search"):
            self._compare_facts(left, right)
        return note

    def _kind(self, path: tuple[str, ...], schema: Mapping[str, Any], left: str, right: str) -> StringKind:
        """Return the kind that the test case sets, else code if one of the texts is, else that of the recorded one.

        A recorded text with a whole word is as the produced one: it may be a short answer to the same question.
        """
        trees = [self._rules.kinds]
        for token in path:
            trees = follow(trees, int(token) if is_index(token) else token)
        if kinds := [tree.value for tree in trees if tree.value is not None]:
            return kinds[0]
        recorded, produced = (
            kind_of(key_of(path), schema, text, self._rules.effect, in_document=self._in_document)
            for text in (left, right)
        )
        has_word = produced in ("prose", "search") and any(map(str.isalpha, words_of(left)))
        return produced if produced == "code" or has_word else recorded

    def _is_in_other_order(self, path: tuple[str, ...]) -> bool:
        """Return True if the path leads into lists that have the same entries in another order; adds the outermost."""
        left, right = self._recorded, self._produced
        for depth, token in enumerate(path):
            if isinstance(left, list) and isinstance(right, list):
                where = path[:depth]
                if where not in self._lists and (note := self._note_of_lists(where, left, right)):
                    self._add(Difference(format_pointer(where), left, right), note)
                    self._lists[where] = True
                if self._lists.setdefault(where, False):
                    return True
                left, right = (part_of(side, int(token)) for side in (left, right))
            else:
                left, right = part_of(left, token), part_of(right, token)
        return False

    def _note_of_lists(self, path: tuple[str, ...], left: list[Any], right: list[Any]) -> str:
        if key_of(path).lower() in _PLACES and left and all(isinstance(entry, int | float) for entry in left):
            return ""  # the first number is not the second one
        if self._reader.forms.in_other_order(*self._filled(path, left, right)):
            return "the same entries in another order"
        if self._rules.effect == "write" or not 0 < len(left) < len(right):
            return ""
        self._reader.budget.spend(len(left) + len(right))
        if not all(isinstance(entry, str) for entry in (*left, *right)):
            return ""
        return "" if Counter(left) - Counter(right) else "the recorded entries and more"

    def _filled(self, path: tuple[str, ...], *lists: list[Any]) -> Sequence[list[Any]]:
        """Return lists with the defaults of the schema in entries that lack them."""
        self._reader.budget.spend(SCHEMA_STEPS + len(path))
        properties = schema_at(self._rules.schema, (*path, "*")).get("properties")
        parts = properties if isinstance(properties, Mapping) else {}
        defaults = {
            key: part["default"] for key, part in parts.items() if isinstance(part, Mapping) and "default" in part
        }
        if not defaults:
            return lists
        self._reader.budget.spend(len(parts) + len(defaults) * sum(map(len, lists)))
        return [[{**defaults, **entry} if isinstance(entry, dict) else entry for entry in side] for side in lists]

    def _add(self, difference: Difference, note: str) -> None:
        """Add an open difference, unless there are many: a later difference may still fail."""
        if len(self.open) < MOST_DIFFERENCES:
            self.open.append(OpenDifference(difference.path, difference.expected, difference.actual, note))

    def _compare_facts(self, left: str, right: str) -> Facts:
        self.facts.append(compare_facts(left, right, self._sources(), with_users_values=True))
        return self.facts[-1]


def _is_equal(schema: Mapping[str, Any], left: Any, right: Any) -> bool:
    """Return True if two texts are one instant by the schema's format, or one rule of a calendar."""
    return same_instant(left, right) if schema.get("format") == "date-time" else same_rule(left, right)


def join_facts(parts: Sequence[Facts]) -> Facts | None:
    """Return the facts of several texts as one, each value once; None for no texts."""
    if not parts:
        return None
    return Facts(*(tuple(dict.fromkeys(text for part in parts for text in getattr(part, name))) for name in _FACTS))
