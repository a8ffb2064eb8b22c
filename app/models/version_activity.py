"""What the runs of each version of a prompt came to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, func, or_, select

from app.models.runs import runs


@dataclass(frozen=True, slots=True)
class VersionActivity:
    """Finished runs of one version, None being the draft: `failed` had no answer, or none that could be used.

    `average_ms` is of the model calls, None without any; `cost_usd` the sum.
    """

    commit_hash: str | None
    runs: int
    failed: int
    cost_usd: float
    average_ms: float | None


def activity_by_version(connection: Connection, *, prompt_id: int, since: datetime) -> list[VersionActivity]:
    """Of the runs that were asked for from `since` on."""
    c = runs.c
    unusable = or_(c.status == "failed", c.nok.is_not(None))
    statement = (
        select(
            c.commit_hash,
            func.count(),
            func.sum(case((unusable, 1), else_=0)),
            func.sum(c.cost_usd),
            func.avg(c.response_time_ms),
        )
        .where(c.prompt_id == prompt_id, c.created_at >= since, c.status.in_(("done", "failed")))
        .group_by(c.commit_hash)
    )
    return [
        VersionActivity(commit_hash, int(count), int(failed), float(cost), None if average is None else float(average))
        for commit_hash, count, failed, cost, average in connection.execute(statement)
    ]
