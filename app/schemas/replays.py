"""Requests about replays, and replays as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from marshmallow import fields, post_load, validate

from app.models.replays import STATUSES, ReplayRow
from app.replay.types import StepResult
from app.schemas.base import BoundedList, Identifier, StrictSchema, Text
from app.schemas.cases import PAGE, PAGE_MAX
from app.services.replays.history import DraftHistory
from app.services.replays.service import AT_ONCE, ReplayView
from app.timestamps import iso, iso_or_none

NO_DRIFT: dict[str, Any] = {"placeholders": {}, "tools": []}
NO_TOKENS = {"prompt": 0, "completion": 0, "total": 0}


class StartSchema(StrictSchema):
    """`judgeModelName` beats the organization's default model."""

    judge_model = Text(data_key="judgeModelName", minimum=1, maximum=128, load_default=None)


class StartAllSchema(StartSchema):
    test_case_ids = BoundedList(Identifier(), maximum=AT_ONCE, data_key="testCaseIds", load_default=None)


class VerdictSchema(StrictSchema):
    verdict = fields.String(required=True, validate=validate.OneOf(("passed", "failed")))


@dataclass(frozen=True, slots=True)
class ReplayQuery:
    """Which of a prompt's replays; None everywhere for all of them."""

    limit: int = PAGE
    cursor: str | None = None
    test_case_id: int | None = None
    status: str | None = None
    fingerprint: str | None = None
    commit_hash: str | None = None


class ReplayQuerySchema(StrictSchema):
    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)
    test_case_id = Identifier(data_key="testCaseId")
    status = fields.String(validate=validate.OneOf(STATUSES))
    fingerprint = Text(data_key="draftFingerprint", maximum=64)
    commit_hash = Text(data_key="commitHash", maximum=64)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> ReplayQuery:
        return ReplayQuery(**data)


class HistoryQuerySchema(StrictSchema):
    test_case_id = Identifier(data_key="testCaseId", load_default=None)


def dump_accepted(row: ReplayRow) -> dict[str, Any]:
    return {"id": row.id, "status": row.status, "testCaseId": row.test_case_id}


def dump_summary(view: ReplayView) -> dict[str, Any]:
    """A replay as lists show it. `commitHash` is the version with the same content as its draft, if there is one."""
    row = view.row
    return {
        "id": row.id,
        "status": row.status,
        "promptId": row.prompt_id,
        "testCaseId": row.test_case_id,
        "testCaseName": view.test_case_name,
        "draftFingerprint": row.fingerprint,
        "commitHash": view.commit_hash,
        "progress": {"done": row.done, "total": row.total},
        "counts": row.counts or dict.fromkeys(get_args(StepResult), 0),
        "tokens": _tokens(row),
        "cost": _cost(row),
        "error": row.error,
        "createdAt": iso(row.created_at),
        "startedAt": iso_or_none(row.started_at),
        "finishedAt": iso_or_none(row.finished_at),
    }


def dump_replay(view: ReplayView) -> dict[str, Any]:
    """A whole replay; `turns` are there once it has ended. `judgeTokens` are a part of `tokens`."""
    result = view.result or {}
    return dump_summary(view) | {
        "turns": [_turn(turn) for turn in result.get("turns", ())],
        "stopReason": result.get("stopReason"),
        "drift": result.get("drift", NO_DRIFT),
        "judgeTokens": result.get("judgeTokens", NO_TOKENS),
    }


def dump_replays(views: Sequence[ReplayView], next_cursor: str | None) -> dict[str, Any]:
    return {"replays": [dump_summary(view) for view in views], "nextCursor": next_cursor}


def dump_history(entries: Sequence[DraftHistory]) -> dict[str, Any]:
    return {"history": [_history(entry) for entry in entries]}


def _history(entry: DraftHistory) -> dict[str, Any]:
    return {
        "draftFingerprint": entry.fingerprint,
        "commitHash": entry.commit_hash,
        "replays": entry.replays,
        "counts": dict(entry.counts),
        "passRate": entry.pass_rate,
        "firstAt": iso(entry.first_at),
        "lastAt": iso(entry.last_at),
    }


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    return {name: turn[name] for name in ("user", "steps", "extra", "stopReason", "drift", "error")}


def _tokens(row: ReplayRow) -> dict[str, int]:
    total = row.prompt_tokens + row.completion_tokens
    return {"prompt": row.prompt_tokens, "completion": row.completion_tokens, "total": total}


def _cost(row: ReplayRow) -> dict[str, float]:
    prompt, completion = row.prompt_cost_usd, row.completion_cost_usd
    return {"prompt": prompt, "completion": completion, "total": prompt + completion}
