"""What a replay found as JSON, for storage and the API; reading it back trusts what was stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.chat import Tokens
from app.replay.types import (
    MISSING,
    Difference,
    Drift,
    Produced,
    ReplayResult,
    StepVerdict,
    TurnResult,
)

_PARTS = {"cacheRead": "cache_read", "cacheWrite": "cache_write", "reasoning": "reasoning"}


def dump_result(result: ReplayResult) -> dict[str, Any]:
    """`{status, turns, stopReason, drift, tokens, judgeTokens, error}`."""
    return {
        "status": result.status,
        "turns": [dump_turn(turn) for turn in result.turns],
        "stopReason": result.stop_reason,
        "drift": dump_drift(result.drift),
        "tokens": dump_tokens(result.tokens),
        "judgeTokens": dump_tokens(result.judge_tokens),
        "error": result.error,
    }


def load_result(raw: Mapping[str, Any]) -> ReplayResult:
    """What `dump_result` wrote."""
    return ReplayResult(
        raw["status"],
        tuple(load_turn(turn) for turn in raw["turns"]),
        raw["stopReason"],
        _load_drift(raw["drift"]),
        _load_tokens(raw["tokens"]),
        _load_tokens(raw["judgeTokens"]),
        raw["error"],
    )


def dump_turn(turn: TurnResult) -> dict[str, Any]:
    """An entry of a replay's `turns`; a step is `{kind, result, expected, actual, reason?, diff?}`."""
    return {
        "user": turn.user,
        "steps": [_dump_verdict(step) for step in turn.steps],
        "extra": [_dump_produced(step) for step in turn.extra],
        "stopReason": turn.stop_reason,
        "drift": dump_drift(turn.drift),
        "tokens": dump_tokens(turn.tokens),
        "judgeTokens": dump_tokens(turn.judge_tokens),
        "error": turn.error,
    }


def load_turn(raw: Mapping[str, Any]) -> TurnResult:
    """What `dump_turn` wrote."""
    return TurnResult(
        raw["user"],
        tuple(_load_verdict(step) for step in raw["steps"]),
        tuple(Produced(**step) for step in raw["extra"]),
        raw["stopReason"],
        _load_drift(raw["drift"]),
        _load_tokens(raw["tokens"]),
        _load_tokens(raw["judgeTokens"]),
        raw["error"],
    )


def dump_drift(drift: Drift) -> dict[str, Any]:
    """`{placeholders: {key: value name}, tools: [name]}`."""
    return {"placeholders": drift.placeholders, "tools": list(drift.tools)}


def dump_tokens(tokens: Tokens) -> dict[str, int]:
    """`{prompt, completion, total}`, and the parts of them that are not 0."""
    parts = {key: getattr(tokens, name) for key, name in _PARTS.items()}
    whole = {"prompt": tokens.prompt, "completion": tokens.completion, "total": tokens.total}
    return whole | {key: count for key, count in parts.items() if count}


def _load_tokens(raw: Mapping[str, int]) -> Tokens:
    parts = {name: raw.get(key, 0) for key, name in _PARTS.items()}
    return Tokens(raw["prompt"], raw["completion"], **parts)


def _load_drift(raw: Mapping[str, Any]) -> Drift:
    return Drift(raw["placeholders"], tuple(raw["tools"]))


def _dump_verdict(step: StepVerdict) -> dict[str, Any]:
    dumped: dict[str, Any] = {
        "kind": step.kind,
        "result": step.result,
        "expected": step.expected,
        "actual": step.actual,
    }
    if step.reason is not None:
        dumped["reason"] = step.reason
    return dumped | ({"diff": [_dump_difference(each) for each in step.diff]} if step.diff else {})


def _load_verdict(raw: Mapping[str, Any]) -> StepVerdict:
    diff = tuple(Difference(**difference) for difference in raw.get("diff", ()))
    return StepVerdict(raw["kind"], raw["result"], raw["expected"], raw["actual"], raw.get("reason"), diff)


def _dump_difference(difference: Difference) -> dict[str, Any]:
    sides = {"expected": difference.expected, "actual": difference.actual}
    return {"path": difference.path} | {side: value for side, value in sides.items() if value is not MISSING}


def _dump_produced(step: Produced) -> dict[str, Any]:
    if step.kind == "answer":
        return {"kind": step.kind, "text": step.text}
    return {"kind": step.kind, "name": step.name, "arguments": step.arguments, "result": step.result}
