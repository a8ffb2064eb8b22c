"""Earlier results of the revisions of a program: the baseline of an experiment over a newer revision.

The program of an earlier revision is not there to be played, so its results of earlier experiments and replays count.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from app.errors import Invalid
from app.models import experiment_replays, experiments, prompt_versions
from app.models.experiment_replays import SnapshotFaults
from app.services.replays.candidates import External
from app.values.structs import convert

# The program is kept by its revision, but the models that it calls change meanwhile.
EARLIER_FOR = timedelta(days=90)
# Of the newest experiments that passed.
REVISIONS_READ = 50


class EarlierResults(NamedTuple):
    """A revision with earlier results, and how many the test case with the fewest of them has."""

    revision: External
    repeats: int


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revisions of a prompt's program with results of `played`, judged by the same model."""

    connection: Connection
    prompt_id: int
    played: Collection[SnapshotFaults]
    judge_model_id: int | None
    now: datetime

    def baseline(
        self, candidate: External, requested: External | Literal["latest"], *, least: int
    ) -> EarlierResults | None:
        """Return the revision to compare with; None if no earlier revision that passed has enough results.

        `least` is the number of results that each test case needs. Raises `Invalid` for a requested revision that
        cannot be the baseline.
        """
        if requested == "latest":
            return self._newest_passed(candidate, least)
        if (requested.name, requested.revision) == (candidate.name, candidate.revision):
            raise Invalid("baseline: The candidate has this revision, too: name an earlier one.")
        if requested.dirty:
            raise Invalid("baseline.external.dirty: Changes that are not committed have no earlier results.")
        repeats = self._repeats(requested)
        if repeats < least:
            raise Invalid(
                f"baseline: {requested.name} at {requested.revision} has {repeats} results of the test case with the "
                f"fewest, and {least} are needed: play that revision as often, or ask for fewer repeats."
            )
        return EarlierResults(requested, repeats)

    def _newest_passed(self, candidate: External, least: int) -> EarlierResults | None:
        rows = experiments.list_passed_programs(self.connection, prompt_id=self.prompt_id, limit=REVISIONS_READ)
        passed = (convert(row, External) for row in rows)
        known = dict.fromkeys(revision for revision in passed if not revision.dirty)
        for revision in known:
            if revision.name == candidate.name and revision.revision != candidate.revision:
                repeats = self._repeats(revision)
                if repeats >= least:
                    return EarlierResults(revision, repeats)
        return None

    def _repeats(self, revision: External) -> int:
        """Return how many results the test case with the fewest of them has."""
        fingerprint = revision.fingerprint
        ids = prompt_versions.snapshot_ids(self.connection, prompt_id=self.prompt_id, fingerprints=[fingerprint])
        if fingerprint not in ids:
            return 0
        results = experiment_replays.reusable_replays(
            self.connection,
            draft_snapshot_id=ids[fingerprint],
            case_snapshot_ids={snapshot_id for snapshot_id, _ in self.played},
            judge_model_id=self.judge_model_id,
            since=self.now - EARLIER_FOR,
        )
        return min((len(results.get(played, ())) for played in self.played), default=0)
