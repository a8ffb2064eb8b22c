"""Compares answers: rules decide where they can, and leave the rest to a judge (docs/reference/gate.md)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from msgspec import UNSET

from app.replay.case_types import Check, CheckedAnswer
from app.replay.comparison import PASSED, Comparison, OpenTexts, failed_if_any, text_differs
from app.replay.json_differences import differences, ignored_paths
from app.replay.judge_replies import unfenced
from app.replay.result_types import Difference, ProducedAnswer
from app.replay.text_kinds import is_code
from app.replay.text_reader import TextReader
from app.replay.texts.facts import compare_facts
from app.replay.texts.sources import Sources
from app.replay.wording import listed
from app.values.budget import OverBudget, WorkBudget
from app.values.composed import composed
from app.values.json import count_marks
from app.values.storable import decode_json
from app.values.unicode import lowered, nfc

_UNIT = re.compile(r"\d\s*+([^\W\d_][^\s.,;:!?()]{0,5})(?!\w)")  # a longer word is no unit
_CODE = re.compile(r"```(?s:.*?)(?:```|\Z)|`[^`\n]+`")
_JSON_BLOCK = re.compile(r"(?:json\b)?\s*[{[]")
_INDENTED = re.compile(r"\n[ \t]")
_CHARACTERS_PER_STEP = 8  # characters that a step reads in order to parse JSON or to search a text
_STEPS_PER_ELEMENT = 3  # to parse an element of JSON
ELEMENTS_MAX = 250_000  # lists, objects and members of JSON in a text that is compared, as in a model's answer
NO_JUDGE = "the answer has other words, and no model may judge it: compare both texts, and decide"


@dataclass(frozen=True, slots=True)
class Answers:
    """Compares the answers of one turn; `sources()` has what their values can be from."""

    sources: Callable[[], Sources]
    reader: TextReader

    def compare(self, step: CheckedAnswer, produced: ProducedAnswer) -> Comparison:
        """Compare two answers. Raises `OverBudget`."""
        expected, actual, check = expected_answer(step), produced.text, step.check
        self.reader.budget.spend((len(step.text) + len(actual)) // _CHARACTERS_PER_STEP)
        if check.answer == "ignore":
            return PASSED
        if nok := produced.nok or (None if actual.strip() or not step.text.strip() else "NOK: the answer is empty"):
            return text_differs(nok, expected, actual, "rule")
        match check.answer:
            case "ai":
                assertion = check.value if isinstance(check.value, str) else None
                return self._open_answer(step.text, actual, assertion)
            case "manual":
                return Comparison("needs_review", "a person decides", decided_by=None)
            case "contains":
                return _contains(str(expected), actual)
            case "regex":
                return self._matches(str(expected), actual)
            case "json_subset":
                return self._json_subset(check, expected, actual)
            case "strict":
                values = (_parse_json(text, self.reader.budget) for text in (str(expected), actual))
                return replace(self._strict(check, str(expected), actual, *values), decided_by="text")
            case "facts":
                return self._facts(str(expected), actual)
        return self._compare_meaning(check, str(expected), produced)

    def _matches(self, pattern: str, actual: str) -> Comparison:
        if self.reader.matches_pattern(pattern, actual):
            return PASSED
        return text_differs("the answer does not match the pattern", pattern, actual)

    def _facts(self, expected: str, actual: str) -> Comparison:
        facts = compare_facts(expected, actual, self.sources())
        reasons = [
            f"the answer {verb} {listed(values)}"
            for verb, values in (("lost", facts.lost), ("invented", facts.invented))
            if values
        ]
        if reasons:
            return replace(text_differs("; ".join(reasons), expected, actual, "facts"), facts=facts)
        return Comparison("passed", facts=facts, decided_by="facts")

    def _compare_meaning(self, check: Check, expected: str, produced: ProducedAnswer) -> Comparison:
        """Compare the texts, then by the rules of docs/reference/gate.md; leave what neither decides to a judge.

        The judge also reads what the draft wrote next to its calls. If that has further values, it always decides.
        """
        actual, aside, recorded_aside = produced.text, produced.aside, produced.recorded_aside
        left, right = _parse_json(expected, self.reader.budget), _parse_json(actual, self.reader.budget)
        by_text = replace(self._strict(check, expected, actual, left, right), decided_by="text")
        adds_values = bool(aside and compare_facts(f"{recorded_aside}\n\n{expected}", aside, self.sources()).invented)
        is_equal = by_text.result == "passed" and (left is not UNSET or has_same_letters(expected, actual))
        if is_equal and not adds_values:
            return by_text
        if isinstance(left, dict | list) and (failure := self._structure_failure(check, expected, actual, left, right)):
            return failure
        # A reader of JSON gets only the JSON.
        if aside and (adds_values or left is UNSET):
            expected, actual = f"{recorded_aside}\n\n{expected}".lstrip(), f"{aside}\n\n{actual}"
        open_answer = self._open_answer(expected, actual, "")
        return replace(open_answer, diff=by_text.diff or open_answer.diff)

    def _structure_failure(
        self, check: Check, expected: str, actual: str, left: dict[str, Any] | list[Any], right: Any
    ) -> Comparison | None:
        """Return why an answer can't replace recorded JSON: it is none, or has other keys or types; else None."""
        # Whether a fence does harm depends on the reading program, which the instruction may describe.
        if right is UNSET and (inner := unfenced(actual)) != actual:
            right = _parse_json(inner, self.reader.budget)
        if right is UNSET:
            return text_differs("the answer is no JSON, and the recorded one is", expected, actual, "rule")
        changed = filter(_has_other_structure, self._differences(check, left, right))
        failure = failed_if_any("the answer's JSON has another structure", changed)
        return None if failure is PASSED else replace(failure, decided_by="rule")

    def _open_answer(self, recorded: str, actual: str, assertion: str | None) -> Comparison:
        """Leave an answer to a judge, with the values of both texts as evidence."""
        facts = compare_facts(recorded, actual, self.sources())
        texts = OpenTexts("answer", recorded, actual, assertion)
        return Comparison("needs_review", NO_JUDGE, (Difference("", recorded, actual),), facts, None, texts)

    def _strict(self, check: Check, expected: str, actual: str, left: Any, right: Any) -> Comparison:
        """Compare two texts, or `left` and `right`, their JSON, where both have some."""
        if left is not UNSET and right is not UNSET:
            return failed_if_any("the answer differs", self._differences(check, left, right))
        if same_text(expected, actual):
            return PASSED
        return text_differs("the answer differs", expected, actual)

    def _json_subset(self, check: Check, expected: Any, actual: str) -> Comparison:
        left = _parse_json(expected, self.reader.budget) if isinstance(expected, str) else composed(expected)
        right = _parse_json(actual, self.reader.budget)
        for value, reason in ((left, "what is expected is no JSON"), (right, "the answer is no JSON")):
            if value is UNSET:
                return text_differs(reason, expected, actual)
        return failed_if_any("the answer lacks what is expected", self._differences(check, left, right, subset=True))

    def _differences(self, check: Check, left: Any, right: Any, *, subset: bool = False) -> Iterator[Difference]:
        ignored = [ignored_paths(check.ignore_paths)]
        return differences(left, right, subset=subset, ignored=ignored, budget=self.reader.budget)


def expected_answer(step: CheckedAnswer) -> Any:
    """Return what an answer is compared with: the check's value, else the recorded text."""
    has_value = step.check.value is not None and step.check.answer not in ("ai", "manual", "ignore")
    return step.check.value if has_value else step.text


def same_text(left: str, right: str) -> bool:
    """Return True if two texts are equal but for white space, case and Unicode's ways to write a character."""
    return left == right or folded(left) == folded(right)


def has_same_units(left: str, right: str) -> bool:
    """Return True unless texts that are equal but for case differ in that of a unit, as 5 mg and 5 Mg do.

    A text in capitals has no other units than the same text in small letters.
    """
    first, other = nfc(left), nfc(right)
    return _UNIT.findall(first) == _UNIT.findall(other) or _is_in_capitals(first) != _is_in_capitals(other)


def has_same_letters(left: str, right: str) -> bool:
    """Return False if two texts that are equal but for case and white space differ where these have a meaning."""
    return has_same_units(left, right) and has_same_code(left, right)


def has_same_code(left: str, right: str) -> bool:
    """Return True unless code in two texts differs in case or in the indentation of its lines.

    Code is what is between backticks, or a whole text with indented lines and the shape of code. One of two texts may
    be in capitals.
    """
    first, other = _code_of(left), _code_of(right)
    if _is_in_capitals(left) != _is_in_capitals(right):
        first, other = ([lowered(part) for part in parts] for parts in (first, other))
    return first == other


def _code_of(text: str) -> list[str]:
    parts = [text] if _INDENTED.search(text) and is_code(text) else _CODE.findall(text)
    return [_lines_of(nfc(part).strip("`\n")) for part in parts]


def _lines_of(code: str) -> str:
    """Return code without white space at the end of its lines, and JSON in one line."""
    if _JSON_BLOCK.match(code):
        return " ".join(code.split())
    return "\n".join(map(str.rstrip, code.splitlines())).rstrip()


def _is_in_capitals(text: str) -> bool:
    return _UNIT.sub("", text).isupper()


def folded(text: str) -> str:
    """Return a text in lower case, with one space for each run of white space."""
    return " ".join(lowered(text).split())


def _has_other_structure(difference: Difference) -> bool:
    """Return True if a key is missing or new, or a value is of another type; null may replace any value."""
    types = {_json_type(side) for side in (difference.expected, difference.actual)}
    if UNSET in (difference.expected, difference.actual):
        return not difference.path.rpartition("/")[2].isdecimal()  # a list may be longer or shorter
    return len(types) > 1 and "null" not in types


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def _contains(expected: str, actual: str) -> Comparison:
    searched = folded(expected)
    if searched and searched in folded(actual):
        return PASSED
    reason = "the answer does not contain the text" if searched else "there is no text to look for"
    return text_differs(reason, expected, actual)


def _parse_json(text: str, budget: WorkBudget) -> Any:
    """Return the JSON value of a text in storable form; UNSET when it has none, or nests too deeply for that.

    Raises `OverBudget` for a text that may have more than `ELEMENTS_MAX` elements.
    """
    if text.lstrip()[:1] in ("{", "["):
        elements = count_marks(text)
        if elements > ELEMENTS_MAX:
            raise OverBudget
        budget.spend(_STEPS_PER_ELEMENT * elements)
    try:
        return composed(decode_json(text))
    except ValueError:
        return UNSET
