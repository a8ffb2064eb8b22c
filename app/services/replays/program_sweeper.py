"""Ends the replays of programs that had their time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import program_replays, replays
from app.models.program_replays import ProgramReplay
from app.services.replays.programs import TOKEN_FOR
from app.timestamps import Now

EXPIRED_PER_SWEEP = 100
EXPIRED = "The program did not answer all turns within an hour."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSweeper:
    database: Database
    now: Now

    def sweep(self) -> None:
        """End the replays of programs that had an hour; what workers have in work stays."""
        now = self.now()
        with self.database.read() as connection:
            expired = program_replays.list_expired(connection, before=now, limit=EXPIRED_PER_SWEEP)
        for row in expired:
            self.database.retrying(partial(self._expire, row=row, now=now))

    def _expire(self, connection: Connection, row: ProgramReplay, now: datetime) -> None:
        end = {"status": "error", "error": EXPIRED, "finished_at": now, "claim": None}
        stored = replays.find_replay(connection, project_id=row.project_id, replay_id=row.replay_id)
        if program_replays.leave_replay(connection, of=row, values=end) or stored is None or stored.finished:
            program_replays.remove_program(connection, project_id=row.project_id, replay_id=row.replay_id)
        else:
            program_replays.put_expiry(connection, of=row, expires_at=now + TOKEN_FOR)
