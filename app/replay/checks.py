"""Checks as users write them: defaults, changes to them, and what makes one invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

from app.errors import Invalid
from app.patterns import compile_pattern
from app.pointers import parse_pointer
from app.replay import reading
from app.replay.compare import folded, parse_json
from app.replay.types import MISSING, AnswerCheck, ArgumentsCheck, AssertionType, Check

MOST_IGNORE_PATHS = 100

_ANSWER_BY_ASSERTION: dict[AssertionType, AnswerCheck] = {"STRICT": "strict", "AI": "ai", "MANUAL": "manual"}


def default_check(assertion: AssertionType) -> Check:
    """The check of a step that nobody has changed, by the assertion type of its prompt."""
    return Check(answer=_ANSWER_BY_ASSERTION[assertion])


def merge_check(check: Check, changes: object, path: str) -> Check:
    """The check with the keys that `changes` (camelCase JSON) names replaced.

    Raises `Invalid`, naming the key under `path`.
    """
    raw = reading.fields(changes, path, set(_READERS))
    read = {_NAMES.get(key, key): _READERS[key](value, reading.at(path, key)) for key, value in raw.items()}
    merged = replace(check, **read)
    _require_value(merged, reading.at(path, "value"))
    return merged


def _require_value(check: Check, path: str) -> None:
    value = check.value
    if value is None:
        if check.answer == "regex":
            raise Invalid(f"{path}: is required, the regular expression to find")
        return
    match check.answer:
        case "json_subset":
            if isinstance(value, str) and parse_json(value) is MISSING:
                raise Invalid(f"{path}: must be JSON")
        case "regex":
            _require_pattern(reading.text(value, path), path)
        case "contains":
            if not folded(reading.text(value, path)):
                raise Invalid(f"{path}: every answer contains the empty text")
        case _:
            reading.text(value, path)


def _require_pattern(pattern: str, path: str) -> None:
    try:
        compile_pattern(pattern)
    except ValueError as problem:
        raise Invalid(f"{path}: {problem}") from None


def _ignore_paths(raw: object, path: str) -> tuple[str, ...]:
    paths = reading.items(raw, path, _pointer)
    if len(paths) > MOST_IGNORE_PATHS:
        raise Invalid(f"{path}: at most {MOST_IGNORE_PATHS}")
    return paths


def _pointer(raw: object, path: str) -> str:
    pointer = reading.text(raw, path)
    try:
        parse_pointer(pointer)
    except ValueError as problem:
        raise Invalid(f"{path}: {problem}") from None
    return pointer


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "enabled": reading.boolean,
    "arguments": lambda raw, path: reading.choice(raw, path, get_args(ArgumentsCheck)),
    "answer": lambda raw, path: reading.choice(raw, path, get_args(AnswerCheck)),
    "value": lambda raw, _: raw,
    "ignorePaths": _ignore_paths,
}
_NAMES = {"ignorePaths": "ignore_paths"}
