"""Recent activity of prompts, and the first steps of a project, for the first pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta

from app.database.transactions import Database
from app.models import api_keys, cases, insight, prompts, usage
from app.models.usage import VersionActivity
from app.services.operations.demo import CONVERSATION
from app.sessions.figures import Figures, total
from app.timestamps import Now

DAYS = 7
VERSION_DAYS = 30
SUMS_MAX = 10_000
"""Sums of one day, version and model that one request reads, the latest first."""


@dataclass(frozen=True, slots=True)
class Activity:
    """A prompt's last seven days (UTC), oldest first, and the newest results of its test cases.

    `run_cost_usd` is the cost of the runs; that of the sessions is in `sessions`.
    """

    runs_by_day: tuple[int, ...] = (0,) * DAYS
    run_cost_usd: float = 0.0
    sessions: Figures = Figures()
    replayed: int = 0
    passed: int = 0

    @property
    def cost_usd(self) -> float:
        return self.run_cost_usd + self.sessions.cost_usd

    @property
    def open_cases(self) -> int:
        """The test cases that did not pass their newest replay."""
        return self.replayed - self.passed

    @property
    def runs(self) -> int:
        return sum(self.runs_by_day)


@dataclass(frozen=True, slots=True)
class ProjectProgress:
    """The steps of the getting-started list that a project has completed."""

    has_key: bool
    has_run: bool
    has_trace: bool
    has_passed_replay: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewService:
    database: Database
    now: Now

    def activity(self, *, project_id: int, prompt_ids: Collection[int]) -> dict[int, Activity]:
        """Return {prompt id: activity} of prompts of the project."""
        today = self.now().date()
        days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
        since = self.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
        runs: dict[int, dict[object, int]] = defaultdict(dict)
        costs: dict[int, float] = defaultdict(float)
        with self.database.read() as connection:
            for row in usage.runs_by_day(connection, prompt_ids=prompt_ids, since=since):
                runs[row.prompt_id][row.day] = row.runs
                costs[row.prompt_id] += row.cost_usd
            rows = insight.list_figures(
                connection, project_id=project_id, prompt_ids=prompt_ids, since=days[0], until=today, limit=SUMS_MAX
            )
            replayed = usage.count_replayed_cases(connection, prompt_ids=prompt_ids)
        traced: dict[int, list[Figures]] = defaultdict(list)
        for key, figures in rows:
            traced[key.prompt_id].append(figures)

        def of(prompt_id: int) -> Activity:
            by_day = tuple(runs[prompt_id].get(day, 0) for day in days)
            sessions = total(traced[prompt_id])
            return Activity(by_day, costs[prompt_id], sessions, *replayed.get(prompt_id, (0, 0)))

        return {prompt_id: of(prompt_id) for prompt_id in prompt_ids}

    def sessions_by_day(self, *, project_id: int, prompt_ids: Collection[int], days: int) -> list[tuple[date, Figures]]:
        """Sum up the sessions of prompts that began on each of the last days (UTC), oldest first."""
        today = self.now().date()
        since = today - timedelta(days=days - 1)
        with self.database.read() as connection:
            rows = insight.list_figures(
                connection, project_id=project_id, prompt_ids=prompt_ids, since=since, until=today, limit=SUMS_MAX
            )
        by_day: dict[date, list[Figures]] = defaultdict(list)
        for key, figures in rows:
            by_day[key.day].append(figures)
        return [(day, total(by_day[day])) for day in (since + timedelta(days=n) for n in range(days))]

    def count_prompts(self, *, project_id: int, search: str | None) -> int:
        """Count the project's prompts that are not archived; `search` is a part of the name, in any case."""
        with self.database.read() as connection:
            return prompts.count_prompts(connection, project_id=project_id, search=search)

    def count_test_cases(self, *, prompt_id: int, search: str | None) -> int:
        """Count the prompt's test cases with `search` in their name, in any case; the caller checks access."""
        with self.database.read() as connection:
            return cases.count_test_cases(connection, prompt_id=prompt_id, search=search)

    def versions(self, *, prompt_id: int) -> dict[str | None, VersionActivity]:
        """Sum up the last 30 days of each version by commit hash, None for the draft; the caller checks access."""
        since = self.now() - timedelta(days=VERSION_DAYS)
        with self.database.read() as connection:
            rows = usage.activity_by_version(connection, prompt_id=prompt_id, since=since)
        return {entry.commit_hash: entry for entry in rows}

    def sessions(self, *, project_id: int, prompt_id: int) -> dict[str, Figures]:
        """Sum up the sessions of the last 30 days by version, "" for sessions with none or several."""
        today = self.now().date()
        since = today - timedelta(days=VERSION_DAYS)
        with self.database.read() as connection:
            rows = insight.list_figures(
                connection, project_id=project_id, prompt_ids=[prompt_id], since=since, until=today, limit=SUMS_MAX
            )
        by_version: dict[str, list[Figures]] = defaultdict(list)
        for key, figures in rows:
            by_version[key.version].append(figures)
        return {version: total(figures_of_version) for version, figures_of_version in by_version.items()}

    def progress(self, *, project_id: int) -> ProjectProgress:
        with self.database.read() as connection:
            has_key = bool(api_keys.list_keys(connection, project_id=project_id))
            return ProjectProgress(has_key, *usage.first_steps(connection, project_id=project_id, demo=CONVERSATION))
