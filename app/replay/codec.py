"""Test cases as JSON, for storage, the API and files; keys in a stable order."""

from __future__ import annotations

from typing import Any, get_args

from app.errors import Invalid
from app.replay import reading
from app.replay.checks import merge_check
from app.replay.types import (
    AssertionType,
    CaseStep,
    CaseTurn,
    Check,
    History,
    OnMissing,
    Order,
    TestCase,
)

SETTINGS = {"order", "history", "onMissing", "includedTurns", "assertionType", "assertionValue"}
_CALL = {"name", "arguments", "result", "error"}


def dump_case(case: TestCase) -> dict[str, Any]:
    """What `load_case` reads; `includedTurns`, `assertionType`, `assertionValue` may be null."""
    return {
        "order": case.order,
        "history": case.history,
        "onMissing": case.on_missing,
        "includedTurns": case.included_turns,
        "assertionType": case.assertion_type,
        "assertionValue": case.assertion_value,
        "turns": [_dump_turn(turn) for turn in case.turns],
    }


def load_case(raw: object, path: str = "") -> TestCase:
    """Raises `Invalid` for anything that `dump_case` could not have written, naming the field."""
    given = reading.fields(raw, path, {"turns", *SETTINGS}, {"turns"})
    turns = reading.items(given["turns"], reading.at(path, "turns"), _load_turn)
    settings = {key: value for key, value in given.items() if key in SETTINGS}
    case = TestCase(turns, **load_settings(settings, len(turns), path))
    require_a_check(case, reading.at(path, "turns"))
    return case


def load_settings(raw: object, turns: int, path: str = "") -> dict[str, Any]:
    """The fields of `TestCase` beside its turns that `raw` names; `turns` is how many there are."""
    readers: dict[str, tuple[str, Any]] = {
        "order": ("order", _one_of(get_args(Order))),
        "history": ("history", _one_of(get_args(History))),
        "onMissing": ("on_missing", _one_of(get_args(OnMissing))),
        "includedTurns": ("included_turns", _or_null(lambda v, p: reading.whole_number(v, p, 1, turns))),
        "assertionType": ("assertion_type", _or_null(_one_of(get_args(AssertionType)))),
        "assertionValue": ("assertion_value", reading.text_or_null),
    }
    given = reading.fields(raw, path, SETTINGS)
    return {readers[key][0]: readers[key][1](value, reading.at(path, key)) for key, value in given.items()}


def require_a_check(case: TestCase, path: str) -> None:
    """A test that checks nothing can't fail: raises `Invalid` unless an included turn checks a step."""
    if not any(step.checked for turn in case.turns[: case.included_turns] for step in turn.steps):
        raise Invalid(f"{path}: at least one step of the included turns must be checked")


def dump_check(check: Check) -> dict[str, Any]:
    return {
        "enabled": check.enabled,
        "arguments": check.arguments,
        "answer": check.answer,
        "value": check.value,
        "ignorePaths": list(check.ignore_paths),
    }


def _dump_turn(turn: CaseTurn) -> dict[str, Any]:
    return {
        "traceId": turn.trace_id,
        "promptVersion": turn.prompt_version,
        "placeholders": turn.placeholders,
        "offeredTools": None if turn.offered_tools is None else list(turn.offered_tools),
        "user": turn.user,
        "steps": [_dump_step(step) for step in turn.steps],
    }


def _dump_step(step: CaseStep) -> dict[str, Any]:
    called = {"name": step.name, "arguments": step.arguments, "result": step.result, "error": step.error}
    said = called if step.kind == "tool_call" else {"text": step.text}
    return {"kind": step.kind, "spanId": step.span_id, **said, "check": dump_check(step.check)}


def _load_turn(raw: object, path: str) -> CaseTurn:
    known = {"traceId", "promptVersion", "placeholders", "offeredTools", "user", "steps"}
    given = reading.fields(raw, path, known, {"user", "steps"})
    return CaseTurn(
        user=reading.text_or_null(given["user"], reading.at(path, "user")),
        steps=reading.items(given["steps"], reading.at(path, "steps"), _load_step),
        placeholders=_or_null(_placeholders)(given.get("placeholders"), reading.at(path, "placeholders")),
        offered_tools=_or_null(_tools)(given.get("offeredTools"), reading.at(path, "offeredTools")),
        prompt_version=reading.text_or_null(given.get("promptVersion"), reading.at(path, "promptVersion")),
        trace_id=reading.text(given.get("traceId", ""), reading.at(path, "traceId")),
    )


def _load_step(raw: object, path: str) -> CaseStep:
    given = reading.fields(raw, path, {"kind", "spanId", "text", "check", *_CALL}, {"kind"})
    kind = reading.choice(given["kind"], reading.at(path, "kind"), ("tool_call", "answer"))
    foreign = ({"text"} if kind == "tool_call" else _CALL) & given.keys()
    if foreign:
        raise Invalid(f"{reading.at(path, min(foreign))}: a step of kind {kind} has none")
    return CaseStep(
        kind=kind,
        name=reading.text(given.get("name", ""), reading.at(path, "name")),
        arguments=given.get("arguments"),
        result=given.get("result"),
        error=reading.text_or_null(given.get("error"), reading.at(path, "error")),
        text=reading.text(given.get("text", ""), reading.at(path, "text")),
        span_id=reading.text(given.get("spanId", ""), reading.at(path, "spanId")),
        check=merge_check(Check(), given.get("check", {}), reading.at(path, "check")),
    )


def _placeholders(raw: object, path: str) -> dict[str, str]:
    if not isinstance(raw, dict):
        raise Invalid(f"{path}: must be an object")
    return {key: reading.text(value, reading.at(path, key)) for key, value in raw.items()}


def _tools(raw: object, path: str) -> tuple[str | dict[str, Any], ...]:
    return reading.items(raw, path, _tool)


def _tool(raw: object, path: str) -> str | dict[str, Any]:
    if isinstance(raw, dict):
        reading.text(raw.get("name"), reading.at(path, "name"))
        return raw
    return reading.text(raw, path)


def _one_of(choices: tuple[str, ...]) -> Any:
    return lambda raw, path: reading.choice(raw, path, choices)


def _or_null(read: Any) -> Any:
    return lambda raw, path: None if raw is None else read(raw, path)
