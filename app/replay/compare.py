"""Whether a produced step satisfies the check of a recorded one, and if not, where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from app.patterns import found
from app.pointers import Pointer, parse_pointer
from app.replay.diff import MOST_DIFFERENCES, differences
from app.replay.recording import arguments_of
from app.replay.types import MISSING, CaseStep, Check, Difference, Produced
from app.storable import decode_json


@dataclass(frozen=True, slots=True)
class Outcome:
    """`open` is left to a judge or a person."""

    result: Literal["passed", "failed", "open"]
    reason: str | None = None
    diff: tuple[Difference, ...] = ()


PASSED = Outcome("passed")
OPEN = Outcome("open")


def arguments_pass(step: CaseStep, produced: Produced) -> bool:
    """Whether a call of the same tool satisfies the check of its arguments."""
    return step.check.arguments == "ignore" or next(_argument_differences(step, produced), None) is None


def compare(step: CaseStep, produced: Produced) -> Outcome:
    """The outcome for two steps of the same kind and, for tool calls, the same name."""
    return _arguments(step, produced) if step.kind == "tool_call" else _answer(step, produced.text)


def expected_answer(step: CaseStep) -> Any:
    """What an answer is held against: the check's value, else the recorded text."""
    held = step.check.value is not None and step.check.answer not in ("ai", "manual", "ignore")
    return step.check.value if held else step.text


def parse_json(text: str) -> Any:
    """The JSON value of a text, as it can be stored; MISSING when it is none, or nests too deeply for that."""
    try:
        return decode_json(text)
    except ValueError:
        return MISSING


def folded(text: str) -> str:
    """Trimmed, runs of white space as one, case ignored."""
    return " ".join(text.split()).casefold()


@lru_cache(maxsize=1024)
def pointers(check_paths: tuple[str, ...]) -> tuple[Pointer, ...]:
    """The parsed pointers of `ignore_paths`."""
    return tuple(parse_pointer(path) for path in check_paths)


def _arguments(step: CaseStep, produced: Produced) -> Outcome:
    if step.check.arguments == "ignore":
        return PASSED
    return _unless_any(f"{step.name} was called with other arguments", _argument_differences(step, produced))


def _argument_differences(step: CaseStep, produced: Produced) -> Iterator[Difference]:
    return differences(
        arguments_of(step.arguments),
        arguments_of(produced.arguments),
        subset=step.check.arguments == "subset",
        ignored=pointers(step.check.ignore_paths),
    )


def _answer(step: CaseStep, actual: str) -> Outcome:
    expected = expected_answer(step)
    match step.check.answer:
        case "ai" | "manual":
            return OPEN
        case "ignore":
            return PASSED
        case "contains":
            return _contains(str(expected), actual)
        case "regex":
            return _matches(str(expected), actual)
        case "json_subset":
            return _json_subset(step.check, expected, actual)
        case "strict":
            return _strict(step.check, str(expected), actual)


def _strict(check: Check, expected: str, actual: str) -> Outcome:
    left, right = parse_json(expected), parse_json(actual)
    if left is not MISSING and right is not MISSING:
        found_differences = differences(left, right, ignored=pointers(check.ignore_paths))
        return _unless_any("the answer differs", found_differences)
    if folded(expected) == folded(actual):
        return PASSED
    return _text_differs("the answer differs", expected, actual)


def _contains(expected: str, actual: str) -> Outcome:
    wanted = folded(expected)
    if wanted and wanted in folded(actual):
        return PASSED
    reason = "the answer does not contain the text" if wanted else "there is no text to look for"
    return _text_differs(reason, expected, actual)


def _matches(pattern: str, actual: str) -> Outcome:
    try:
        matched = found(pattern, actual)
    except ValueError as problem:
        return _text_differs(f"the pattern is none: {problem}", pattern, actual)
    return PASSED if matched else _text_differs("the answer does not match the pattern", pattern, actual)


def _json_subset(check: Check, expected: Any, actual: str) -> Outcome:
    wanted = parse_json(expected) if isinstance(expected, str) else expected
    given = parse_json(actual)
    for value, words in ((wanted, "what is expected is no JSON"), (given, "the answer is no JSON")):
        if value is MISSING:
            return _text_differs(words, expected, actual)
    lacking = differences(wanted, given, subset=True, ignored=pointers(check.ignore_paths))
    return _unless_any("the answer lacks what is expected", lacking)


def _unless_any(reason: str, found_differences: Iterator[Difference]) -> Outcome:
    """Passed unless there are differences; the first of them are shown, for a diff is for reading."""
    diff = tuple(islice(found_differences, MOST_DIFFERENCES))
    return Outcome("failed", reason, diff) if diff else PASSED


def _text_differs(reason: str, expected: Any, actual: str) -> Outcome:
    return Outcome("failed", reason, (Difference("", expected, actual),))
