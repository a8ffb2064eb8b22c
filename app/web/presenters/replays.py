"""A replay: what was recorded and what the draft did, step by step, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.services.replays.service import ReplayView
from app.web.filters import pretty
from app.web.presenters.cases import STATES
from app.web.presenters.diffs import Budget, DiffRow, diff_json, diff_rows

RESULTS = {
    "passed": ("passed", "ok"),
    "failed": ("failed", "bad"),
    "ignored": ("ignored", ""),
    "not_run": ("not run", ""),
    "needs_review": ("needs review", "warn"),
}
STOPS = {
    "missing_result": "The draft called a tool that the recording has no result for, so the replay ended here.",
    "step_limit": "The draft called tools again and again, so the turn was ended.",
    "no_user_text": "What the user said was not recorded, so this turn can't be played.",
    "provider_error": "The model's vendor failed.",
    "cancelled": "Somebody cancelled it.",
}


@dataclass(frozen=True, slots=True)
class StepView:
    """`n` counts over all turns. `rows` is the difference where the step failed and both sides are there."""

    n: int
    kind: str
    name: str
    state: str
    state_kind: str
    reason: str | None
    expected: str
    actual: str | None
    rows: list[DiffRow]
    paths: list[str]
    judge: bool
    accept: bool


@dataclass(frozen=True, slots=True)
class ExtraView:
    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnView:
    user: str | None
    steps: list[StepView]
    extra: list[ExtraView]
    stop: str
    error: str | None


@dataclass(frozen=True, slots=True)
class ReplayPage:
    id: int
    href: str
    case_id: int
    case_name: str | None
    prompt_name: str
    prompt_href: str
    live: bool
    state: str
    state_kind: str
    done: int
    total: int
    counts: list[tuple[int, str, str]]
    stop: str
    error: str | None
    drift_placeholders: list[tuple[str, str]]
    drift_tools: list[str]
    commit_hash: str | None
    tokens: int
    cost_usd: float
    started_at: datetime | None
    took_ms: float | None
    turns: list[TurnView]


def replay_page(view: ReplayView, prompt_name: str, base: str) -> ReplayPage:
    row, result = view.row, view.result or {}
    state, kind = STATES[row.status]
    drift = result.get("drift", {})
    took = (row.finished_at - row.started_at).total_seconds() * 1000 if row.finished_at and row.started_at else None
    return ReplayPage(
        id=row.id,
        href=f"{base}/replays/{row.id}",
        case_id=row.test_case_id,
        case_name=view.test_case_name,
        prompt_name=prompt_name,
        prompt_href=f"{base}/prompts/{row.prompt_id}",
        live=not row.finished,
        state=state,
        state_kind=kind,
        done=row.done,
        total=row.total,
        counts=[(count, *RESULTS[name]) for name, count in (row.counts or {}).items() if count],
        stop=STOPS.get(result.get("stopReason") or "", ""),
        error=row.error,
        drift_placeholders=list(drift.get("placeholders", {}).items()),
        drift_tools=list(drift.get("tools", ())),
        commit_hash=view.commit_hash,
        tokens=row.prompt_tokens + row.completion_tokens,
        cost_usd=row.prompt_cost_usd + row.completion_cost_usd,
        started_at=row.started_at or row.created_at,
        took_ms=took,
        turns=_turns(result.get("turns", ()), finished=row.finished, known=view.test_case_name is not None),
    )


def _turns(turns: Any, *, finished: bool, known: bool) -> list[TurnView]:
    views: list[TurnView] = []
    first = 0
    budget = Budget()
    for turn in turns:
        steps = [
            _step(step, first + at, budget, finished=finished, known=known) for at, step in enumerate(turn["steps"])
        ]
        first += len(steps)
        extra = [_extra(step) for step in turn["extra"]]
        views.append(TurnView(turn["user"], steps, extra, STOPS.get(turn["stopReason"] or "", ""), turn["error"]))
    return views


def _step(step: dict[str, Any], n: int, budget: Budget, *, finished: bool, known: bool) -> StepView:
    """`known`: its test case still exists, so that it can take what the draft did."""
    called = step["kind"] == "tool_call"
    state, kind = RESULTS[step["result"]]
    expected, actual = step["expected"], step["actual"]
    differs = step["result"] in ("failed", "needs_review") and actual is not None
    open_ = step["result"] == "needs_review" and finished
    return StepView(
        n=n,
        kind=step["kind"],
        name=expected["name"] if called else "",
        state=state,
        state_kind=kind,
        reason=step.get("reason"),
        expected=_said(expected, called=called),
        actual=None if actual is None else _said(actual, called=called),
        rows=_rows(expected, actual, budget, called=called) if differs else [],
        paths=[each["path"] for each in step.get("diff", ()) if each["path"]],
        judge=open_,
        accept=differs and finished and known,
    )


def _rows(expected: Any, actual: Any, budget: Budget, *, called: bool) -> list[DiffRow]:
    if called:
        return diff_json(expected["arguments"], actual["arguments"], budget)
    return diff_rows(pretty(expected), actual, budget)


def _said(side: Any, *, called: bool) -> str:
    """A call's arguments, or an answer."""
    return pretty(side["arguments"] if called else side)


def _extra(step: dict[str, Any]) -> ExtraView:
    called = step["kind"] == "tool_call"
    return ExtraView(step["kind"], step.get("name", ""), pretty(step["arguments"]) if called else step["text"])
