"""A prompt's test cases with how they went, and one of them with its replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.cursors import Page
from app.models.cases import TestCaseRow
from app.models.replay_trends import Outcome
from app.replay.cases import load_case
from app.services.prompts.content import PromptContent
from app.services.replays.cases import Proposal
from app.services.replays.service import ReplayView
from app.web.filters import plural
from app.web.forms import Form
from app.web.presenters.case_form import CaseForm, case_again, case_form
from app.web.presenters.lists import first_link, next_link
from app.web.presenters.tabs import Tab, prompt_tabs

STATES = {
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
    "passed": ("passed", "ok"),
    "failed": ("failed", "bad"),
    "needs_review": ("needs review", "warn"),
    "error": ("error", "bad"),
    "cancelled": ("cancelled", ""),
}


@dataclass(frozen=True, slots=True)
class Dot:
    """One replay in a trend: `kind` colours it."""

    href: str
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class CaseRow:
    id: int
    href: str
    name: str
    details: str
    state: str
    state_kind: str
    replay_href: str
    replayed_at: datetime | None
    trend: list[Dot]
    done: int
    total: int
    running: bool


@dataclass(frozen=True, slots=True)
class CasesPage:
    """`running` test cases are being replayed: the list is live; `done` of `total` steps are played."""

    tabs: list[Tab]
    prompt_id: int
    name: str
    rows: list[CaseRow]
    running: int
    done: int
    total: int
    next_href: str | None
    first_href: str | None
    problem: str = ""


def cases_page(
    name: str,
    prompt_id: int,
    page: Page[TestCaseRow],
    trends: Mapping[int, Sequence[Outcome]],
    base: str,
    query: Mapping[str, str],
    *,
    problem: str = "",
) -> CasesPage:
    rows = [_row(row, trends[row.id], base) for row in page.entries]
    running = [row for row in rows if row.running]
    return CasesPage(
        tabs=prompt_tabs(base, prompt_id, "test-cases"),
        prompt_id=prompt_id,
        name=name,
        rows=rows,
        running=len(running),
        done=sum(row.done for row in running),
        total=sum(row.total for row in running),
        next_href=next_link(query, page.next_cursor),
        first_href=first_link(query),
        problem=problem,
    )


def _row(row: TestCaseRow, trend: Sequence[Outcome], base: str) -> CaseRow:
    last = trend[-1] if trend else None
    state, kind = STATES[last.status] if last else ("not replayed", "")
    case = load_case(row.document)
    checked = sum(step.checked for turn in case.played for step in turn.steps)
    source = "from a session" if row.session_id else "by hand"
    return CaseRow(
        id=row.id,
        href=f"{base}/test-cases/{row.id}",
        name=row.name,
        details=f"{plural(len(case.played), 'turn')}, {plural(checked, 'checked step')}, {source}",
        state=state,
        state_kind=kind,
        replay_href=f"{base}/replays/{last.id}" if last else "",
        replayed_at=last.created_at if last else None,
        trend=[_dot(outcome, base) for outcome in trend],
        done=last.done if last else 0,
        total=last.total if last else 0,
        running=last is not None and not last.finished,
    )


def _dot(outcome: Outcome, base: str) -> Dot:
    words, kind = STATES[outcome.status]
    return Dot(f"{base}/replays/{outcome.id}", kind or "none", words)


@dataclass(frozen=True, slots=True)
class ReplayLine:
    href: str
    state: str
    state_kind: str
    counts: str
    version: str | None
    created_at: datetime
    cost_usd: float


@dataclass(frozen=True, slots=True)
class CasePage:
    """A test case that is there (`id`), or one of a session that is about to be."""

    title: str
    prompt_name: str
    prompt_href: str
    form: CaseForm
    action: str
    button: str
    back: str
    id: int | None = None
    session_href: str = ""
    replays: Sequence[ReplayLine] = ()
    problem: str = ""


def case_page_again(page: CasePage, form: Form, problem: str) -> CasePage:
    return replace(page, form=case_again(page.form, form), problem=problem)


def proposal_page(proposal: Proposal, session_id: str, base: str) -> CasePage:
    session = f"{base}/sessions/{session_id}"
    return CasePage(
        title="Make a test case",
        prompt_name=proposal.head.name,
        prompt_href=f"{base}/prompts/{proposal.head.id}",
        form=case_form(proposal.name, proposal.case),
        action=f"{session}/test-case",
        button="Save the test case",
        back=session,
        session_href=session,
    )


def case_page(row: TestCaseRow, prompt_name: str, replays: Sequence[ReplayView], base: str) -> CasePage:
    prompt = f"{base}/prompts/{row.prompt_id}"
    return CasePage(
        title=row.name,
        prompt_name=prompt_name,
        prompt_href=prompt,
        form=case_form(row.name, load_case(row.document)),
        action=f"{base}/test-cases/{row.id}",
        button="Save",
        back=f"{prompt}/test-cases",
        id=row.id,
        session_href=f"{base}/sessions/{row.session_id}" if row.session_id else "",
        replays=[_line(view, base) for view in replays],
    )


def _line(view: ReplayView, base: str) -> ReplayLine:
    row = view.row
    state, kind = STATES[row.status]
    return ReplayLine(
        href=f"{base}/replays/{row.id}",
        state=state,
        state_kind=kind,
        counts=counts_words(row.counts),
        version=view.commit_hash,
        created_at=row.created_at,
        cost_usd=row.prompt_cost_usd + row.completion_cost_usd,
    )


def counts_words(counts: Mapping[str, Any] | None) -> str:
    """2 passed, 1 failed: what is 0 is left out."""
    return ", ".join(f"{count} {result.replace('_', ' ')}" for result, count in (counts or {}).items() if count)


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """The form of a test case by hand; `choices` are (key, [(name, words)]) of placeholders."""

    prompt_name: str
    prompt_href: str
    choices: list[tuple[str, list[tuple[str, str]]]]
    name: str = ""
    question: str = ""
    expected: str = ""
    problem: str = ""


def written_page(content: PromptContent, base: str, **more: str) -> WrittenPage:
    choices = [
        (one.key, [("", "Default value"), *((value.name, value.name) for value in one.values)])
        for one in content.placeholders
    ]
    return WrittenPage(content.name, f"{base}/prompts/{content.prompt_id}", choices, **more)
