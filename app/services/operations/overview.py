"""Recent activity of prompts, and the first steps of a project, for the first pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeVar

from app.database.transactions import Database
from app.models import api_keys, cases, experiments, insight, prompts, usage
from app.models.insight import InsightKey
from app.models.usage import VersionActivity
from app.services.operations.demo import CONVERSATION
from app.sessions.figures import Sums, sum_up
from app.timestamps import Now

DAYS = 7
VERSION_DAYS = 30
SUMS_MAX = 100_000
"""Sums of a prompt, day, version and model that one request reads, the latest first."""
Group = TypeVar("Group", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Activity:
    """A prompt's last seven days (UTC), oldest first, and the newest results of its test cases.

    `run_cost_usd` is the cost of the runs; that of the sessions is in `sessions`. Replays of experiments don't count as
    `replayed`; `has_verdict` is true if an experiment has ended.
    """

    runs_by_day: tuple[int, ...] = (0,) * DAYS
    run_cost_usd: float = 0.0
    sessions: Sums = Sums()
    replayed: int = 0
    passed: int = 0
    has_verdict: bool = False

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
class Recent:
    """Activity by prompt id, and the sessions of all these prompts by the day (UTC) of their begin, oldest first."""

    prompts: Mapping[int, Activity]
    days: Sequence[tuple[date, Sums]]


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

    def recent(self, *, project_id: int, prompt_ids: Collection[int], days: int = DAYS) -> Recent:
        """Return the activity of prompts of the project in the last `DAYS`, and their sessions on each of `days`.

        `days` is not less than `DAYS`.
        """
        today = self.now().date()
        dates = [today - timedelta(days=back) for back in reversed(range(days))]
        since = self.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
        runs: dict[int, dict[object, int]] = defaultdict(dict)
        costs: dict[int, float] = defaultdict(float)
        with self.database.read() as connection:
            for row in usage.runs_by_day(connection, prompt_ids=prompt_ids, since=since):
                runs[row.prompt_id][row.day] = row.runs
                costs[row.prompt_id] += row.cost_usd
            replayed = usage.count_replayed_cases(connection, prompt_ids=prompt_ids)
            decided = experiments.prompts_with_verdict(connection, project_id=project_id, prompt_ids=prompt_ids)
        sums = self._sums(project_id, prompt_ids, dates[0], lambda key: (key.prompt_id, key.day))
        week = dates[-DAYS:]

        def of(prompt_id: int) -> Activity:
            sessions = sum_up(sums[prompt_id, day] for day in week if (prompt_id, day) in sums)
            by_day = tuple(runs[prompt_id].get(day, 0) for day in week)
            cases = replayed.get(prompt_id, (0, 0))
            return Activity(by_day, costs[prompt_id], sessions, *cases, has_verdict=prompt_id in decided)

        by_day: dict[date, list[Sums]] = {day: [] for day in dates}
        for (_, day), sums_of_day in sums.items():
            by_day[day].append(sums_of_day)
        return Recent(
            {prompt_id: of(prompt_id) for prompt_id in prompt_ids},
            [(day, sum_up(sums_of_day)) for day, sums_of_day in by_day.items()],
        )

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

    def sessions(self, *, project_id: int, prompt_id: int) -> dict[str, Sums]:
        """Sum up the sessions of the last 30 days by version, "" for sessions with none or several."""
        since = self.now().date() - timedelta(days=VERSION_DAYS)
        return self._sums(project_id, [prompt_id], since, lambda key: key.version)

    def _sums(
        self, project_id: int, prompt_ids: Collection[int], since: date, group: Callable[[InsightKey], Group]
    ) -> dict[Group, Sums]:
        """Sum up the sessions of prompts that began on the day `since` (UTC) or later."""
        grouped: dict[Group, list[Sums]] = defaultdict(list)
        days = {"since": since, "until": self.now().date()}
        with self.database.read() as connection:
            for key, sums in insight.list_sums(
                connection, project_id=project_id, prompt_ids=prompt_ids, limit=SUMS_MAX, **days
            ):
                grouped[group(key)].append(sums)
        return {key: sum_up(parts) for key, parts in grouped.items()}

    def progress(self, *, project_id: int) -> ProjectProgress:
        with self.database.read() as connection:
            has_key = api_keys.has_keys(connection, project_id=project_id)
            return ProjectProgress(has_key, *usage.first_steps(connection, project_id=project_id, demo=CONVERSATION))
