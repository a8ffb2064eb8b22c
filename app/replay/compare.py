"""Compares a produced step with a recorded one as its check demands, and names the differences by JSON pointers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from msgspec import UNSET

from app.patterns import found
from app.pointers import Pointer, format_pointer, parse_pointer
from app.replay.types import CaseStep, Check, CheckedAnswer, CheckedCall, Difference, ProducedCall, ProducedStep
from app.storable import decode_json

MOST_DIFFERENCES = 100  # that a verdict keeps

Path = tuple[str | int, ...]  # a number is an index of an array, a text a key of an object


def differences(
    expected: Any, actual: Any, *, subset: bool = False, ignored: Sequence[Pointer] = ()
) -> Iterator[Difference]:
    """Yield the differences in document order: key order is free, 1 equals 1.0, true does not equal 1.

    With `subset`, keys that only `actual` has are no difference; arrays still have to agree index by index. In
    `ignored`, a token `*` stands for every index of an array. Values may nest deeply: there is no recursion.
    """
    pending: list[tuple[Path, Any, Any]] = [((), expected, actual)]
    while pending:
        path, left, right = pending.pop()
        if any(_names(pointer, path) for pointer in ignored):
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            keys = [*left, *(() if subset else (key for key in right if key not in left))]
            pending += [((*path, key), left.get(key, UNSET), right.get(key, UNSET)) for key in reversed(keys)]
        elif isinstance(left, list) and isinstance(right, list):
            indexes = range(max(len(left), len(right)))
            pending += [((*path, index), _at(left, index), _at(right, index)) for index in reversed(indexes)]
        elif not _same(left, right):
            yield Difference(format_pointer(path), left, right)


def arguments_of(arguments: object) -> object:
    """Return a call's arguments; a call without any has `{}`, however that was recorded."""
    return {} if arguments is None or arguments == "" else arguments


def equal(left: Any, right: Any) -> bool:
    """Return True if two JSON values are the same value."""
    return next(differences(left, right), None) is None


def leaves(value: Any) -> frozenset[tuple[Path, Any]]:
    """Return every scalar and empty container with its path, which `similarity` counts."""
    found: set[tuple[Path, Any]] = set()
    pending: list[tuple[Path, Any]] = [((), value)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, dict) and part:
            pending += [((*path, key), child) for key, child in part.items()]
        elif isinstance(part, list) and part:
            pending += [((*path, index), child) for index, child in enumerate(part)]
        else:
            found.add((path, _tagged(part)))
    return frozenset(found)


def similarity(left: frozenset[Any], right: frozenset[Any]) -> float:
    """Return the share of leaves that two values have in common, 0 to 1 (Dice's coefficient)."""
    return 2 * len(left & right) / (len(left) + len(right))


def _same(left: Any, right: Any) -> bool:
    return bool(_tagged(left) == _tagged(right))


def _tagged(scalar: Any) -> Any:
    """Make True differ from 1, and NaN equal to itself, as JSON values do."""
    if isinstance(scalar, bool | dict | list) or (isinstance(scalar, float) and math.isnan(scalar)):
        return type(scalar).__name__, str(scalar) if isinstance(scalar, bool | float) else len(scalar)
    return scalar


def _names(pointer: Pointer, path: Path) -> bool:
    return len(pointer) == len(path) and all(
        token == str(part) or (token == "*" and isinstance(part, int))  # noqa: S105 - no password
        for token, part in zip(pointer, path, strict=True)
    )


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else UNSET


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison; `needs_review` leaves it to a judge or a person."""

    result: Literal["passed", "failed", "needs_review"]
    reason: str | None = None
    diff: tuple[Difference, ...] = ()


PASSED = Comparison("passed")


def arguments_pass(step: CheckedCall, produced: ProducedCall) -> bool:
    """Return True if a call of the same tool satisfies the check of its arguments."""
    return step.check.arguments == "ignore" or next(_argument_differences(step, produced), None) is None


def compare(step: CaseStep, produced: ProducedStep) -> Comparison:
    """Compare two steps of the same kind and, for tool calls, the same name."""
    if step.kind == "tool_call" and produced.kind == "tool_call":
        return _arguments(step, produced)
    if step.kind == "answer" and produced.kind == "answer":
        return _answer(step, produced.text)
    raise TypeError(f"can't compare steps of the kinds {step.kind} and {produced.kind}")


def expected_answer(step: CheckedAnswer) -> Any:
    """Return what an answer is compared with: the check's value, else the recorded text."""
    has_value = step.check.value is not None and step.check.answer not in ("ai", "manual", "ignore")
    return step.check.value if has_value else step.text


def _arguments(step: CheckedCall, produced: ProducedCall) -> Comparison:
    if step.check.arguments == "ignore":
        return PASSED
    return _unless_any(f"{step.name} was called with other arguments", _argument_differences(step, produced))


def _argument_differences(step: CheckedCall, produced: ProducedCall) -> Iterator[Difference]:
    return differences(
        arguments_of(step.arguments),
        arguments_of(produced.arguments),
        subset=step.check.arguments == "subset",
        ignored=_pointers(step.check.ignore_paths),
    )


def _answer(step: CheckedAnswer, actual: str) -> Comparison:
    expected = expected_answer(step)
    match step.check.answer:
        case "ai":
            return Comparison("needs_review", "a judge decides")
        case "manual":
            return Comparison("needs_review", "a person decides")
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


def _strict(check: Check, expected: str, actual: str) -> Comparison:
    left, right = _parse_json(expected), _parse_json(actual)
    if left is not UNSET and right is not UNSET:
        return _unless_any("the answer differs", differences(left, right, ignored=_pointers(check.ignore_paths)))
    if _folded(expected) == _folded(actual):
        return PASSED
    return _text_differs("the answer differs", expected, actual)


def _contains(expected: str, actual: str) -> Comparison:
    searched = _folded(expected)
    if searched and searched in _folded(actual):
        return PASSED
    reason = "the answer does not contain the text" if searched else "there is no text to look for"
    return _text_differs(reason, expected, actual)


def _matches(pattern: str, actual: str) -> Comparison:
    if found(pattern, actual):
        return PASSED
    return _text_differs("the answer does not match the pattern", pattern, actual)


def _json_subset(check: Check, expected: Any, actual: str) -> Comparison:
    left = _parse_json(expected) if isinstance(expected, str) else expected
    right = _parse_json(actual)
    for value, reason in ((left, "what is expected is no JSON"), (right, "the answer is no JSON")):
        if value is UNSET:
            return _text_differs(reason, expected, actual)
    lacking = differences(left, right, subset=True, ignored=_pointers(check.ignore_paths))
    return _unless_any("the answer lacks what is expected", lacking)


def _unless_any(reason: str, found_differences: Iterator[Difference]) -> Comparison:
    """Pass unless there are differences, of which a diff shows the first: people read it."""
    diff = tuple(islice(found_differences, MOST_DIFFERENCES))
    return Comparison("failed", reason, diff) if diff else PASSED


def _text_differs(reason: str, expected: Any, actual: str) -> Comparison:
    return Comparison("failed", reason, (Difference("", expected, actual),))


def _parse_json(text: str) -> Any:
    """Return the JSON value of a text in storable form; UNSET when it has none, or nests too deeply for that."""
    try:
        return decode_json(text)
    except ValueError:
        return UNSET


def _folded(text: str) -> str:
    """Trim the text, make runs of white space one space, and ignore case."""
    return " ".join(text.split()).casefold()


@lru_cache(maxsize=1024)
def _pointers(paths: tuple[str, ...]) -> tuple[Pointer, ...]:
    return tuple(parse_pointer(path) for path in paths)
