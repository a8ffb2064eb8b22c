"""The claims of replays: how often a replay is begun, and what each attempt starts from."""

from __future__ import annotations

from app.models.replays import UNFINISHED, replays
from app.work.table import WorkTable

ATTEMPTS_MAX = 3
INTERRUPTED = f"The replay was interrupted {ATTEMPTS_MAX} times: its worker died or was stopped."

REPLAY_WORK = WorkTable(
    replays,
    waiting=replays.c.status.in_(UNFINISHED) & replays.c.claim.is_(None),
    on_claim={"attempts": replays.c.attempts + 1, "done": 0, "result": None},
    attempts=replays.c.attempts,
)
