"""Moving replays forward: every change is a guarded UPDATE, and only its one row says that it happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select, update

from app.models.replays import UNFINISHED, ReplayRow, get_replays, replays


@dataclass(frozen=True, slots=True)
class Claim:
    """A replay in work; `alive_at` is when its worker last said so, by that worker's clock."""

    replay_id: int
    token: str
    alive_at: datetime


def claim_replay(connection: Connection, *, replay_id: int, token: str, now: datetime) -> ReplayRow | None:
    """Make the replay the caller's own; None when another worker has it or there is nothing to do."""
    c = replays.c
    free = update(replays).where(c.id == replay_id, c.status.in_(UNFINISHED), c.claim.is_(None))
    values = {
        "status": "running",
        "claim": token,
        "alive_at": now,
        "attempts": c.attempts + 1,
        "started_at": func.coalesce(c.started_at, now),
        "done": 0,
        "result": None,
    }
    if connection.execute(free.values(values)).rowcount != 1:
        return None
    return get_replays(connection, ids=[replay_id])[0]


def touch_replay(connection: Connection, *, replay_id: int, token: str, values: dict[str, Any], now: datetime) -> bool:
    """Say how far the worker is; False when the replay is no longer its own, or was cancelled."""
    c = replays.c
    mine = update(replays).where(c.id == replay_id, c.claim == token, c.status == "running")
    return connection.execute(mine.values(alive_at=now, **values)).rowcount == 1


def finish_replay(connection: Connection, *, replay_id: int, token: str, values: dict[str, Any], now: datetime) -> bool:
    """End a claimed replay; False when it is no longer the worker's, or was cancelled."""
    c = replays.c
    mine = update(replays).where(c.id == replay_id, c.claim == token, c.status == "running")
    return connection.execute(mine.values(claim=None, finished_at=now, **values)).rowcount == 1


def settle_cancelled(connection: Connection, *, replay_id: int, token: str, values: dict[str, Any]) -> bool:
    """What a worker found until it saw that its replay was cancelled; the state stays what it is."""
    c = replays.c
    mine = update(replays).where(c.id == replay_id, c.claim == token, c.status == "cancelled")
    return connection.execute(mine.values(claim=None, **values)).rowcount == 1


def release_replay(connection: Connection, *, replay_id: int, token: str, alive_at: datetime | None = None) -> bool:
    """Let another worker take the replay up; with `alive_at`, only if its worker has not moved since."""
    c = replays.c
    held = update(replays).where(c.id == replay_id, c.claim == token, c.status == "running")
    if alive_at is not None:
        held = held.where(c.alive_at == alive_at)
    return connection.execute(held.values(claim=None)).rowcount == 1


def end_replay(connection: Connection, *, replay_id: int, values: dict[str, Any], now: datetime) -> bool:
    """End a replay that no worker has; False when one has it or it has ended."""
    c = replays.c
    free = update(replays).where(c.id == replay_id, c.status.in_(UNFINISHED), c.claim.is_(None))
    return connection.execute(free.values(finished_at=now, **values)).rowcount == 1


def cancel_replay(connection: Connection, *, project_id: int, replay_id: int, now: datetime) -> bool:
    """False when it has ended, or there is none."""
    c = replays.c
    open_ = update(replays).where(c.id == replay_id, c.project_id == project_id, c.status.in_(UNFINISHED))
    return connection.execute(open_.values(status="cancelled", finished_at=now)).rowcount == 1


def put_verdict(connection: Connection, *, before: ReplayRow, values: dict[str, Any]) -> bool:
    """Write a person's verdict; False when another one came first. Every verdict changes the counts."""
    c = replays.c
    unchanged = update(replays).where(c.id == before.id, c.status == before.status, c.counts == before.counts)
    return connection.execute(unchanged.values(values)).rowcount == 1


def list_claims(connection: Connection) -> list[Claim]:
    """Every replay in work, of all projects."""
    c = replays.c
    held = select(c.id, c.claim, c.alive_at).where(c.status == "running", c.claim.is_not(None))
    return [Claim(*row) for row in connection.execute(held)]


def list_free(connection: Connection, *, limit: int) -> list[ReplayRow]:
    """Replays that no worker has and that have not ended, of all projects, oldest first."""
    c = replays.c
    free = select(c.id).where(c.status.in_(UNFINISHED), c.claim.is_(None)).order_by(c.created_at, c.id).limit(limit)
    return get_replays(connection, ids=list(connection.scalars(free)))
