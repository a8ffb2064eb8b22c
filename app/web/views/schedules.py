"""Schedules of a prompt: their list, the history of one, and what pauses, changes and deletes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.errors import Invalid
from app.experiments.cron import cron_words
from app.http.access import ByRole
from app.models.organizations import Role
from app.models.schedules import ScheduleRow, WatchedRun
from app.schemas.base import load
from app.schemas.schedules import NewScheduleSchema, ScheduleChangeSchema
from app.services.experiments.schedules import NewSchedule, ScheduleView, WatchView
from app.web.charts import day_label
from app.web.forms import Form
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, confirm, show
from app.web.visit import Visit

KINDS = [
    ("experiment", "Experiment: the draft against the newest version"),
    ("watch", "Watch: the newest version against its own past"),
    ("suite-coverage", "Coverage: what a suite represents of the last week’s sessions"),
]
MARKED = ("dropped", "suspected")
"""The states of test cases that have a curve."""
CURVES_MAX = 20
CaseKey = tuple[int, int]
NEW = {
    "kind": "experiment",
    "cron": "0 3 * * *",
    "timezone": "UTC",
    "suite": "",
    "repeats": "",
    "cost": "",
    "coverage": "",
}


class SchedulesPage(PromptPage):
    """Lists the schedules of a prompt, and makes one."""

    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        return show(
            "schedules.html",
            head=self.head(visit, prompt_id),
            schedules=self.services.schedules.list(project_id=visit.project_id, prompt_id=prompt_id),
            suites=self.suite_choices(visit, prompt_id),
            kinds=KINDS,
            given=NEW | {name: visit.query[name] for name in ("kind", "suite") if visit.query.get(name)},
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        new: NewSchedule = load(NewScheduleSchema(), _sent(visit.form))
        self.services.schedules.create(project_id=visit.project_id, prompt_id=prompt_id, new=new, actor=visit.actor)
        return Redirect(f"{visit.base}/prompts/{prompt_id}/schedules", "The schedule is made.")


class SchedulePage(PromptPage):
    """Shows when a schedule is due and what it has started, and changes it."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, schedule_id: int) -> Reply:
        view = self._view(visit, schedule_id)
        which = {"project_id": visit.project_id, "schedule_id": schedule_id}
        page = self.services.schedules.runs(**which, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        watching = self.services.schedules.watch(**which) if view.row.kind == "watch" else None
        ended = [(run, run.watched) for run in reversed(page.entries) if run.watched and run.watched.played.total]
        return show(
            "schedule.html",
            head=self.head(visit, view.row.prompt_id),
            view=view,
            watching=watching,
            curve=[(day_label(run.due_at), shown.played.passed / shown.played.total) for run, shown in ended],
            newest=next((run.coverage for run in page.entries if run.coverage), None),
            coverage=[
                (day_label(run.due_at), run.coverage.share)
                for run in reversed(page.entries)
                if run.coverage and run.coverage.share is not None
            ],
            shares=_shares(watching, [shown for _, shown in ended]) if watching else {},
            last=ended[-1][0] if ended and "cursor" not in visit.query else None,
            runs=page.entries,
            pages=visit.pages(page.next_cursor),
            suites=self.suite_choices(visit, view.row.prompt_id),
            kinds=KINDS,
            given=_given(view.row),
            enabled=visit.sent.flag("enabled") if visit.problem else view.row.enabled,
        )

    def post(self, visit: Visit, schedule_id: int) -> Reply:
        values = load(ScheduleChangeSchema(), _sent(visit.form) | {"enabled": visit.form.flag("enabled")})
        view = self.services.schedules.change(
            project_id=visit.project_id, schedule_id=schedule_id, values=values, actor=visit.actor
        )
        done = "The schedule is changed." if view.row.enabled else "The schedule is paused."
        return Redirect(f"{visit.base}/schedules/{schedule_id}", done)

    def _view(self, visit: Visit, schedule_id: int) -> ScheduleView:
        return self.services.schedules.get(project_id=visit.project_id, schedule_id=schedule_id)


class NewReference(PromptPage):
    """Asks before a watch begins a new reference."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})

    def get(self, visit: Visit, schedule_id: int) -> Reply:
        return confirm(
            visit,
            title="Begin a new reference?",
            text="The next run begins it. Until it has grown, only large drops are shown.",
            button="Begin a new reference",
            back=f"{visit.base}/schedules/{schedule_id}",
        )

    def post(self, visit: Visit, schedule_id: int) -> Reply:
        self.services.schedules.begin_reference(project_id=visit.project_id, schedule_id=schedule_id, actor=visit.actor)
        return Redirect(f"{visit.base}/schedules/{schedule_id}", "The next run begins a new reference.")


class DeleteSchedule(PromptPage):
    """Asks before a schedule is deleted."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})

    def get(self, visit: Visit, schedule_id: int) -> Reply:
        view = self.services.schedules.get(project_id=visit.project_id, schedule_id=schedule_id)
        return confirm(
            visit,
            title=f"Delete the schedule “{cron_words(view.row.cron)}”?",
            text="It starts nothing more, and its history is deleted. Its experiments stay.",
            button="Delete the schedule",
            back=f"{visit.base}/schedules/{schedule_id}",
        )

    def post(self, visit: Visit, schedule_id: int) -> Reply:
        view = self.services.schedules.get(project_id=visit.project_id, schedule_id=schedule_id)
        self.services.schedules.delete(project_id=visit.project_id, schedule_id=schedule_id, actor=visit.actor)
        return Redirect(f"{visit.base}/prompts/{view.row.prompt_id}/schedules", "The schedule is deleted.")


def _shares(watching: WatchView, runs: Sequence[WatchedRun]) -> Mapping[CaseKey, Sequence[float]]:
    """Return the share of passed replays in each run, for the first test cases that are suspected or dropped."""
    states = [(case.case.state, (case.case.test_case_id, case.case.variant)) for case in watching.cases]
    shares: dict[CaseKey, list[float]] = {key: [] for state, key in states[:CURVES_MAX] if state in MARKED}
    for run in runs:
        for case in run.cases:
            key = case.test_case_id, case.variant
            if key in shares and case.counts.total:
                shares[key].append(case.counts.passed / case.counts.total)
    return shares


def _sent(form: Form) -> dict[str, Any]:
    """Return the body of the API for the fields of a form."""
    return {
        "kind": form.text("kind") or "experiment",
        "cron": form.text("cron"),
        "timezone": form.text("timezone"),
        "suite": form.text("suite") or None,
        "repeats": form.number_if_given("repeats", "Repeats"),
        "maxCost": form.number_if_given("cost", "Cost of a run"),
        "minCoverage": _share_of(form.number_if_given("coverage", "Least coverage")),
    }


def _share_of(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _given(row: ScheduleRow) -> Mapping[str, str]:
    return {
        "kind": row.kind,
        "cron": row.cron,
        "timezone": row.timezone,
        "suite": row.suite or "",
        "repeats": "" if row.repeats is None else str(row.repeats),
        "cost": "" if row.max_cost is None else f"{row.max_cost:.15g}",
        "coverage": "" if row.min_coverage is None else f"{100 * row.min_coverage:.6g}",
    }
