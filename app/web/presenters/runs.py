"""A run: what was asked, what exactly the model received, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.models.runs import RunRow
from app.web.filters import pretty, size
from app.web.presenters.vendors import with_vendor

STATES = {"queued": ("waiting", "accent"), "running": ("running", "accent"), "failed": ("failed", "bad")}
KINDS = {
    "provider": "The model's vendor refused or failed.",
    "provider_timeout": "The model's vendor did not answer in time.",
    "invalid": "It could not be run as asked.",
    "not_found": "What it needs is not there any more.",
    "unavailable": "A part of this instance was away.",
    "interrupted": "Its worker died.",
    "not_started": "No worker took it.",
    "internal": "A bug of ours.",
}
SOURCES = {"api": "API", "ui": "this site", "replay": "a replay"}


@dataclass(frozen=True, slots=True)
class RunResult:
    """`live` while it is not finished. `tokens` are (words, count) pairs; times in milliseconds."""

    id: int
    href: str
    live: bool
    state: str
    state_kind: str
    nok: str | None
    error: str | None
    error_words: str
    answer: str | None
    reasoning: str | None
    tool_calls: list[tuple[str, str]]
    tokens: list[tuple[str, int]]
    cost_usd: float | None
    response_time_ms: int | None


@dataclass(frozen=True, slots=True)
class RunPage:
    prompt_name: str
    prompt_href: str
    result: RunResult
    question: str
    instruction: str | None
    files: list[tuple[str, str]]
    placeholders: list[tuple[str, str | None]]
    ignored: list[str]
    commit_hash: str | None
    version_href: str
    source: str
    model: str
    created_at: datetime
    waited_ms: float | None
    config: str


def run_result(row: RunRow, base: str) -> RunResult:
    outcome: dict[str, Any] = row.outcome or {}
    state, kind = STATES.get(row.status, ("not OK", "warn") if row.nok else ("OK", "ok"))
    return RunResult(
        id=row.id,
        href=f"{base}/runs/{row.id}",
        live=not row.finished,
        state=state,
        state_kind=kind,
        nok=row.nok,
        error=row.error,
        error_words=KINDS.get(row.error_kind or "", "It failed."),
        answer=row.answer,
        reasoning=outcome.get("chainOfThoughts"),
        tool_calls=[(call["name"], pretty(call["arguments"])) for call in outcome.get("toolCalls", ())],
        tokens=_tokens(outcome.get("tokens")),
        cost_usd=outcome["cost"]["total"] if outcome else None,
        response_time_ms=row.response_time_ms,
    )


def run_page(row: RunRow, prompt_name: str, base: str) -> RunPage:
    prompt = f"{base}/prompts/{row.prompt_id}"
    return RunPage(
        prompt_name=prompt_name,
        prompt_href=prompt,
        result=run_result(row, base),
        question=row.question,
        instruction=row.instruction,
        files=[(file["fileName"], f"{file['contentType']}, {size(file['size'])}") for file in row.request["files"]],
        placeholders=list(row.request["resolved"].items()),
        ignored=row.request["ignored"],
        commit_hash=row.commit_hash,
        version_href=f"{prompt}/versions/{row.commit_hash}" if row.commit_hash else f"{prompt}/edit",
        source=SOURCES.get(row.source, row.source),
        model=with_vendor(row.model_name, row.vendor),
        created_at=row.created_at,
        waited_ms=(row.started_at - row.created_at).total_seconds() * 1000 if row.started_at else None,
        config=pretty(row.request["config"]) if row.request["config"] else "",
    )


def _tokens(tokens: dict[str, int] | None) -> list[tuple[str, int]]:
    words = {
        "prompt": "in",
        "completion": "out",
        "cacheRead": "read from the cache",
        "cacheWrite": "written to the cache",
        "reasoning": "for reasoning",
    }
    return [(said, tokens[name]) for name, said in words.items() if name in tokens] if tokens else []
