"""The first page of a project: what happened, what went wrong, what changed, and whether it may go live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from app.models.alert_rules import AlertRule
from app.models.prompts import PromptListing
from app.schemas import experiments as schemas
from app.schemas.answer import dump
from app.services.operations.overview import DAYS, Activity
from app.sessions.figures import Sums, sum_up
from app.web.charts import day_label
from app.web.page import Page, Reply, show
from app.web.presenters.experiment import ShownExperiment
from app.web.views.settings_alerts import METRICS, WINDOWS
from app.web.visit import Visit

PROMPTS_MAX = 200
"""The figures are those of at most this many prompts, the ones that changed last."""
ROWS_MAX = 8
"""Rows of each list of the page."""


class OverviewPage(Page):
    section = "overview"

    def get(self, visit: Visit) -> Reply:
        which: dict[str, Any] = {"project_id": visit.project_id}
        prompts = self.services.prompts.list(**which, limit=PROMPTS_MAX, order="-changed").prompts
        which["prompt_ids"] = [prompt.id for prompt in prompts]
        recent = self.services.overview.recent(**which, days=2 * DAYS)
        activity, earlier, latest = recent.prompts, recent.days[:DAYS], recent.days[DAYS:]
        checks = self._experiments(**which)
        return show(
            "overview.html",
            prompts={prompt.id: prompt for prompt in prompts},
            total=sum_up(sums for _, sums in latest),
            before=sum_up(sums for _, sums in earlier),
            daily=daily_points(latest),
            failing=with_errors(prompts, activity)[:ROWS_MAX],
            untested=with_failing_tests(prompts, activity)[:ROWS_MAX],
            rejected=sum(cause.count for cause in self.services.logs.rejection_causes(project_id=visit.project_id)),
            alerts=self._alerts(visit),
            metrics=dict(METRICS),
            windows=dict(WINDOWS),
            versions=committed(prompts)[:ROWS_MAX],
            drafts=[prompt for prompt in prompts if prompt.newest and not prompt.committed][:ROWS_MAX],
            checks=checks,
            unchecked=unchecked(prompts, checks)[:ROWS_MAX],
        )

    def _experiments(self, *, project_id: int, prompt_ids: Sequence[int]) -> list[tuple[int, ShownExperiment]]:
        """Return the newest experiment with a verdict of each prompt, after the prompt's id."""
        rows = self.services.experiments.newest(project_id=project_id, prompt_ids=prompt_ids, limit=ROWS_MAX)
        return [
            (row.prompt_id, ShownExperiment(dump(schemas.ExperimentSummary, schemas.Shown.at("", row)))) for row in rows
        ]

    def _alerts(self, visit: Visit) -> list[AlertRule]:
        rules = self.services.alerts.list(project_id=visit.project_id)
        return [rule for rule in rules if rule.enabled and rule.firing_since]


def daily_points(days: Sequence[tuple[date, Sums]]) -> dict[str, list[tuple[str, float]]]:
    """Return the points of the charts by day: sessions, sessions with errors, and cost in USD."""
    return {
        "sessions": [(day_label(day), sums.sessions) for day, sums in days],
        "failed": [(day_label(day), sums.failed) for day, sums in days],
        "cost": [(day_label(day), max(0.0, sums.cost_usd)) for day, sums in days],
    }


def with_errors(prompts: Sequence[PromptListing], activity: Mapping[int, Activity]) -> list[tuple[PromptListing, Sums]]:
    """Return the prompts that have sessions with errors, the most errors first."""
    failing = [(prompt, activity[prompt.id].sessions) for prompt in prompts if activity[prompt.id].sessions.failed > 0]
    return sorted(failing, key=lambda pair: -pair[1].failed)


def with_failing_tests(
    prompts: Sequence[PromptListing], activity: Mapping[int, Activity]
) -> list[tuple[PromptListing, Activity]]:
    """Return the prompts that have test cases without a passed last replay, the most first."""
    failing = [(prompt, activity[prompt.id]) for prompt in prompts if activity[prompt.id].open_cases > 0]
    return sorted(failing, key=lambda pair: -pair[1].open_cases)


def committed(prompts: Sequence[PromptListing]) -> list[PromptListing]:
    """Return the prompts that have versions, the newest version first."""
    with_version = [(prompt.newest.created_at, prompt.id, prompt) for prompt in prompts if prompt.newest]
    return [prompt for *_, prompt in sorted(with_version, reverse=True, key=lambda row: row[:2])]


def unchecked(prompts: Sequence[PromptListing], checks: Sequence[tuple[int, ShownExperiment]]) -> list[PromptListing]:
    """Return the prompts with a changed draft and test cases, but without an experiment."""
    checked = {prompt_id for prompt_id, _ in checks}
    changed = [prompt for prompt in prompts if prompt.newest and not prompt.committed and prompt.test_cases]
    return [prompt for prompt in changed if prompt.id not in checked]
