"""The outcomes of experiments as evidence for their candidates, which guarded labels ask for."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from app.experiments.types import Verdict
from app.models.experiments import Status, experiments
from app.models.prompt_versions import draft_snapshots
from app.models.queries import find_row


@dataclass(frozen=True, slots=True)
class Evidence:
    """The outcome of an experiment with the content hashes of its two sides; `baseline` is None without one."""

    status: Status
    verdict: Verdict | None
    candidate: str
    baseline: str | None

    @property
    def passed(self) -> bool:
        return (self.status, self.verdict) == ("finished", "passed")


def find_evidence(connection: Connection, *, prompt_id: int, experiment_id: int) -> Evidence | None:
    c, baseline = experiments.c, draft_snapshots.alias()
    statement = (
        select(c.status, c.verdict, draft_snapshots.c.fingerprint, baseline.c.fingerprint)
        .join(draft_snapshots, draft_snapshots.c.id == c.candidate_snapshot_id)
        .outerjoin(baseline, baseline.c.id == c.baseline_snapshot_id)
        .where(c.id == experiment_id, c.prompt_id == prompt_id)
    )
    return find_row(connection, Evidence, statement)
