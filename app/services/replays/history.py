"""Counts the results of a prompt's replays by content, of drafts and versions alike.

A prompt's own replays are replays of its draft or versions, without those of experiments and calibrations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.database.transactions import Database
from app.errors import NotFound, require
from app.models import cases as test_cases
from app.models import experiment_replays, own_replays, prompt_versions, replays
from app.models.replays import STATUSES, DraftTally, Outcome, ReplayRow, Status
from app.services.prompts.reader import PromptReader
from app.services.replays.frozen import faults_text, shown_name

DRAFTS_MAX = 100
TREND_MAX = 12  # replays of a test case that its trend shows
BATCH_MAX = 500
NO_REPLAY = "There is no such replay."


@dataclass(frozen=True, slots=True)
class DraftHistory:
    """All replays of one content; `commit_hash` is the newest version with it, None if only drafts have it."""

    fingerprint: str
    commit_hash: str | None
    counts: Mapping[str, int]
    first_at: datetime
    last_at: datetime

    @property
    def replays(self) -> int:
        return sum(self.counts.values())

    @property
    def pass_rate(self) -> float | None:
        """The share of passed replays among passed and failed ones; None if there are none."""
        decided = self.counts["passed"] + self.counts["failed"]
        return self.counts["passed"] / decided if decided else None


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """A replay of a batch; `before` is the previous result of its test case, None if it never passed or failed."""

    row: ReplayRow
    test_case_name: str | None
    before: Status | None

    @property
    def shown_name(self) -> str | None:
        """The name of the test case and of its variant; None if the test case was deleted."""
        return self.test_case_name and shown_name(self.test_case_name, (self.row.faults or {}).get("variant"))

    @property
    def newly_failing(self) -> bool:
        return self.row.status == "failed" and self.before == "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayHistory:
    database: Database
    reader: PromptReader

    def of_prompt(self, *, project_id: int, prompt_id: int, test_case_id: int | None = None) -> list[DraftHistory]:
        """List at most `DRAFTS_MAX` contents, the last replayed first; optionally of only one test case."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            if test_case_id is not None:
                owner = test_cases.find_prompt_of(connection, project_id=project_id, test_case_id=test_case_id)
                if owner != prompt_id:
                    raise NotFound("There is no such test case.")
            tallies = replays.tally(connection, prompt_id=prompt_id, test_case_id=test_case_id)
            versions = prompt_versions.hashes_by_content(
                connection, prompt_id=prompt_id, content_hashes={entry.fingerprint for entry in tallies}
            )
        by_content: defaultdict[str, list[DraftTally]] = defaultdict(list)
        for entry in tallies:
            by_content[entry.fingerprint].append(entry)
        history = [_history(group, versions.get(fingerprint)) for fingerprint, group in by_content.items()]
        return sorted(history, key=lambda entry: entry.last_at, reverse=True)[:DRAFTS_MAX]

    def batch(self, *, project_id: int, replay_id: int) -> list[BatchEntry]:
        """Return the replays that were started together with this one, `BATCH_MAX` at most, in order."""
        with self.database.read() as connection:
            replay = replays.find_replay(connection, project_id=project_id, replay_id=replay_id)
            rows = own_replays.list_batch(connection, of=require(replay, NO_REPLAY), limit=BATCH_MAX)
            if not rows:  # removed meanwhile
                raise NotFound(NO_REPLAY)
            ids = {row.test_case_id for row in rows}
            names = test_cases.names_of(connection, project_id=project_id, ids=ids)
            before = own_replays.decided_before(connection, test_case_ids=ids, replay_id=rows[0].id)
        return [
            BatchEntry(row, names.get(row.test_case_id), before.get((row.test_case_id, faults_text(row.faults))))
            for row in rows
        ]

    def version_of(self, row: ReplayRow) -> str | None:
        """Return the hash of the newest version with the content that a replay played; None if only drafts have it."""
        with self.database.read() as connection:
            hashes = prompt_versions.hashes_by_content(
                connection, prompt_id=row.prompt_id, content_hashes={row.fingerprint}
            )
        return hashes.get(row.fingerprint)

    def count_batch(self, row: ReplayRow) -> int:
        """Count the replays that were started together with this one, itself included."""
        with self.database.read() as connection:
            return own_replays.count_batch(connection, of=row)

    def experiment_id(self, row: ReplayRow) -> int | None:
        """Return the experiment that started a replay."""
        with self.database.read() as connection:
            return experiment_replays.started_by(connection, replay_id=row.id)

    def newest_batch(self, *, prompt_id: int) -> list[Outcome]:
        """Return the prompt's own replays that were started last; the caller checks access."""
        with self.database.read() as connection:
            return own_replays.newest_batch(connection, prompt_id=prompt_id, limit=BATCH_MAX)

    def trends(self, *, test_case_ids: Collection[int]) -> dict[int, list[Outcome]]:
        """Return the last `TREND_MAX` own replays of each test case, the oldest first; the caller checks access."""
        with self.database.read() as connection:
            outcomes = own_replays.newest_of_cases(connection, test_case_ids=test_case_ids, replays_max=TREND_MAX)
        trends: dict[int, list[Outcome]] = {test_case_id: [] for test_case_id in test_case_ids}
        for outcome in outcomes:
            trends[outcome.test_case_id].append(outcome)
        return trends

    def violations(self, *, replay_ids: Collection[int]) -> dict[int, int]:
        """Count the violations of replays; replays without any are left out. The caller checks access."""
        with self.database.read() as connection:
            rows = replays.get_replays(connection, ids=replay_ids)
        return {row.id: len(row.violations) for row in rows if row.violations}


def _history(tallies: list[DraftTally], commit_hash: str | None) -> DraftHistory:
    counts = dict.fromkeys(STATUSES, 0) | {entry.status: entry.replays for entry in tallies}
    first_at, last_at = min(entry.first_at for entry in tallies), max(entry.last_at for entry in tallies)
    return DraftHistory(tallies[0].fingerprint, commit_hash, counts, first_at, last_at)
