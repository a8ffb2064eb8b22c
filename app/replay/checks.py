"""Checks the steps that a draft produced: arguments by their matchers, answers by text, facts and polarity."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal

from msgspec import UNSET, structs

from app.chat import ToolCall
from app.replay.arguments import RankedMatchers, compare_arguments, ranked
from app.replay.compare import MOST_DIFFERENCES, arguments_of, differences, ignored_paths
from app.replay.effects import Tool
from app.replay.findings import DecidedBy, Difference, ProducedStep
from app.replay.fingerprints import json_of
from app.replay.matchers import parse_matchers
from app.replay.reader import Reader
from app.replay.texts.facts import Facts, compare_facts, values_repeated
from app.replay.texts.free_text import folded
from app.replay.texts.limits import limits_differ
from app.replay.texts.polarity import polarity_differs
from app.replay.texts.relations import LONGEST_TEXT, name_replaced, value_replaced, values_exchanged
from app.replay.texts.sources import Sources
from app.replay.types import CaseStep, Check, CheckedAnswer, CheckedCall
from app.values.budget import OverBudget, WorkBudget
from app.values.storable import decode_json

MOST_KEPT = 1_000  # comparisons of a turn that are kept for the next time
_STEPS_OF_A_CALL = 20  # to compare arguments without values
_STEPS_OF_A_MATCHER = 5  # to parse it
_READING = 8  # characters that a step reads in order to parse JSON or to search a text
_STEPS_OF_AN_ELEMENT = 3  # to parse an element of JSON
ELEMENTS_MAX = 250_000  # lists, objects and members of JSON in a text that is compared, as in a model's answer
_GUARDS = 3  # that find the values of both texts again


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """A question to a judge; `assertion` is the test case's where it is None."""

    assertion: str | None
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison; with a `task`, it is the result where no judge can be asked.

    `facts` are the values that were compared, where any were.
    """

    result: Literal["passed", "failed", "needs_review"]
    reason: str | None = None
    diff: tuple[Difference, ...] = ()
    facts: Facts | None = None
    decided_by: DecidedBy | None = "check"
    task: JudgeTask | None = None


PASSED = Comparison("passed")
TOO_LONG = Comparison("needs_review", "too long to compare", decided_by=None)


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares the steps of one turn within the budget of the replay's reader. Without budget, steps need review.

    `sources()` reads the texts and values from which a draft may take its own; it is called only if a comparison needs
    them. `judges` is False if no model may decide what the `meaning` of an answer leaves open.
    """

    tools: Mapping[str, Tool]
    sources: Callable[[], Sources]
    judges: bool = True
    reader: Reader = field(default_factory=Reader)
    # By the ids of both steps, which are kept so that no other step gets them.
    _compared: dict[tuple[int, int], tuple[CaseStep, ProducedStep, Comparison]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _ranked: dict[int, tuple[CheckedCall, RankedMatchers]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def budget(self) -> WorkBudget:
        return self.reader.budget

    def is_plain(self, step: CheckedCall) -> bool:
        """Return True if the check of a call accepts only equal arguments."""
        return step.check.arguments == "exact" and not step.check.ignore_paths and not self._matchers(step)

    def accepts(self, step: CheckedCall, call: ToolCall) -> bool:
        """Return True unless the arguments of a call, which differ from those of the step, fail its check.

        Raises `OverBudget`.
        """
        return not self.is_plain(step) and self._call(step, call.arguments).result != "failed"

    def compare(self, step: CaseStep, produced: ProducedStep) -> Comparison:
        """Compare two steps of the same kind and, for tool calls, the same name."""
        key = id(step), id(produced)
        if key in self._compared:
            return self._compared[key][2]
        try:
            self.budget.spend(1)
            found = self._comparison(step, produced)
        except OverBudget:
            return TOO_LONG
        if len(self._compared) < MOST_KEPT:
            self._compared[key] = step, produced, found
        return found

    def _comparison(self, step: CaseStep, produced: ProducedStep) -> Comparison:
        if step.kind == "tool_call" and produced.kind == "tool_call":
            return self._call(step, produced.arguments)
        if step.kind == "answer" and produced.kind == "answer":
            return self._answer(step, produced.text)
        raise TypeError(f"can't compare steps of the kinds {step.kind} and {produced.kind}")

    def _matchers(self, step: CheckedCall) -> Mapping[str, Any]:
        of_tool = self.tools[step.name].arguments if step.name in self.tools else {}
        return {**of_tool, **step.check.arguments} if isinstance(step.check.arguments, dict) else of_tool

    def _ranked_matchers(self, step: CheckedCall) -> RankedMatchers:
        if id(step) not in self._ranked:
            matchers = self._matchers(step)
            self.budget.spend(_STEPS_OF_A_MATCHER * len(matchers))
            self._ranked[id(step)] = step, ranked(parse_matchers(matchers))
        return self._ranked[id(step)][1]

    def _call(self, step: CheckedCall, arguments: Any) -> Comparison:
        if step.check.arguments == "ignore":
            return PASSED
        self.budget.spend(_STEPS_OF_A_CALL)
        compared = compare_arguments(
            arguments_of(step.arguments),
            arguments_of(arguments),
            self._ranked_matchers(step),
            self.sources,
            subset=step.check.arguments == "subset",
            ignored=ignored_paths(step.check.ignore_paths),
            reader=self.reader,
        )
        found = _unless_any(f"{step.name} was called with other arguments", iter(compared.differences))
        found = replace(found, facts=compared.facts)
        if found.result == "failed" or not compared.questions:
            return found
        assertion = "; ".join(f"{each.path}: {each.assertion}" for each in compared.questions)
        sides = ({each.path: getattr(each, side) for each in compared.questions} for side in ("expected", "actual"))
        task = JudgeTask(assertion, *(json_of(side, self.budget, ensure_ascii=False) for side in sides))
        reason = "no model may judge the arguments"
        return replace(found, result="needs_review", reason=reason, decided_by=None, task=task)

    def _answer(self, step: CheckedAnswer, actual: str) -> Comparison:
        expected = expected_answer(step)
        self.budget.spend((len(step.text) + len(actual)) // _READING)
        match step.check.answer:
            case "ai":
                assertion = step.check.value if isinstance(step.check.value, str) else None
                task = JudgeTask(assertion, step.text, actual)
                return Comparison("needs_review", "no model may judge the answer", decided_by=None, task=task)
            case "manual":
                return Comparison("needs_review", "a person decides", decided_by=None)
            case "ignore":
                return PASSED
            case "contains":
                return _contains(str(expected), actual)
            case "regex":
                return self._matches(str(expected), actual)
            case "json_subset":
                return self._json_subset(step.check, expected, actual)
            case "strict":
                return replace(self._strict(step.check, str(expected), actual), decided_by="text")
            case "facts":
                return self._facts(str(expected), actual)
            case "meaning":
                return self._meaning(step.check, str(expected), actual)

    def _matches(self, pattern: str, actual: str) -> Comparison:
        if self.reader.found(pattern, actual):
            return PASSED
        return _text_differs("the answer does not match the pattern", pattern, actual)

    def _facts(self, expected: str, actual: str) -> Comparison:
        facts = compare_facts(expected, actual, self.sources())
        reasons = [
            f"the answer {verb} {_listed(values)}"
            for verb, values in (("lost", facts.lost), ("invented", facts.invented))
            if values
        ]
        if reasons:
            return replace(_text_differs("; ".join(reasons), expected, actual), facts=facts, decided_by="facts")
        return Comparison("passed", facts=facts, decided_by="facts")

    def _meaning(self, check: Check, expected: str, actual: str) -> Comparison:
        """Return the first that decides: the text, the values in it, a judge (docs/reference/gate.md)."""
        by_text = replace(self._strict(check, expected, actual), decided_by="text")
        if by_text.result == "passed":
            return by_text
        by_facts = self._facts(expected, actual)
        if by_facts.result == "failed":
            return by_facts
        task = JudgeTask("", expected, actual) if self.judges else None
        if reason := self._doubt(check, expected, actual):
            return replace(by_facts, result="needs_review", reason=reason, decided_by="guard", task=task)
        facts = by_facts.facts
        if facts and not facts.kept:
            if not (repeated := values_repeated(expected, actual, self.sources())):
                return replace(by_text, facts=facts, task=task)
            return replace(by_facts, facts=structs.replace(facts, kept=repeated), task=task)
        return by_facts

    def _doubt(self, check: Check, expected: str, actual: str) -> str | None:
        """Return why two texts with the same values may still mean something else."""
        for text in (expected[:LONGEST_TEXT], actual[:LONGEST_TEXT]):
            self.reader.spend_on_words(text)
            for _ in range(_GUARDS):
                self.reader.spend_on_values(text)
        if self._flags_differ(check, expected, actual) or polarity_differs(expected, actual):
            return "the answer may say the opposite of what was recorded"
        if values_exchanged(expected, actual) or limits_differ(expected, actual):
            return "the answer may relate its values in another way"
        if value_replaced(expected, actual):
            return "the answer may have another value in the place of a recorded one"
        if name_replaced(expected, actual, self.sources()):
            return "the answer may have another name in the place of a recorded one"
        return None

    def _strict(self, check: Check, expected: str, actual: str) -> Comparison:
        left, right = _parse_json(expected, self.budget), _parse_json(actual, self.budget)
        if left is not UNSET and right is not UNSET:
            return _unless_any("the answer differs", self._differences(check, left, right))
        if folded(expected) == folded(actual):
            return PASSED
        return _text_differs("the answer differs", expected, actual)

    def _json_subset(self, check: Check, expected: Any, actual: str) -> Comparison:
        left = _parse_json(expected, self.budget) if isinstance(expected, str) else expected
        right = _parse_json(actual, self.budget)
        for value, reason in ((left, "what is expected is no JSON"), (right, "the answer is no JSON")):
            if value is UNSET:
                return _text_differs(reason, expected, actual)
        return _unless_any("the answer lacks what is expected", self._differences(check, left, right, subset=True))

    def _flags_differ(self, check: Check, expected: str, actual: str) -> bool:
        """Return True if two JSON documents differ in a true, false or null, which are no values of a text."""
        left, right = _parse_json(expected, self.budget), _parse_json(actual, self.budget)
        if not isinstance(left, dict | list) or not isinstance(right, dict | list):
            return False
        found = self._differences(check, left, right)
        return any(isinstance(side, bool) or side is None for each in found for side in (each.expected, each.actual))

    def _differences(self, check: Check, left: Any, right: Any, *, subset: bool = False) -> Iterator[Difference]:
        ignored = [ignored_paths(check.ignore_paths)]
        return differences(left, right, subset=subset, ignored=ignored, budget=self.budget)


def expected_answer(step: CheckedAnswer) -> Any:
    """Return what an answer is compared with: the check's value, else the recorded text."""
    has_value = step.check.value is not None and step.check.answer not in ("ai", "manual", "ignore")
    return step.check.value if has_value else step.text


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(values[:5]) + (" and others" if len(values) > 5 else "")


def _contains(expected: str, actual: str) -> Comparison:
    searched = folded(expected)
    if searched and searched in folded(actual):
        return PASSED
    reason = "the answer does not contain the text" if searched else "there is no text to look for"
    return _text_differs(reason, expected, actual)


def _unless_any(reason: str, found_differences: Iterator[Difference]) -> Comparison:
    """Pass unless there are differences, of which a diff shows the first: people read it."""
    diff = tuple(islice(found_differences, MOST_DIFFERENCES))
    return Comparison("failed", reason, diff) if diff else PASSED


def _text_differs(reason: str, expected: Any, actual: str) -> Comparison:
    return Comparison("failed", reason, (Difference("", expected, actual),))


def _parse_json(text: str, budget: WorkBudget) -> Any:
    """Return the JSON value of a text in storable form; UNSET when it has none, or nests too deeply for that.

    Raises `OverBudget` for a text that may have more than `ELEMENTS_MAX` elements.
    """
    if text.lstrip()[:1] in ("{", "["):
        elements = sum(map(text.count, ",[{"))
        if elements > ELEMENTS_MAX:
            raise OverBudget
        budget.spend(_STEPS_OF_AN_ELEMENT * elements)
    try:
        return decode_json(text)
    except ValueError:
        return UNSET
