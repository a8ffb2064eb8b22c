"""Replays that their programs play: read for a request, and handed over to a worker after the last turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from app.database.transactions import Database
from app.errors import Conflict, require
from app.models import program_replays, replays
from app.models.program_replays import PLAYED_BY_PROGRAM, ProgramReplay
from app.replay.program import is_void
from app.replay.types import TestCase
from app.services.replays.preparation import Preparation, Prepared
from app.services.replays.program_store import BUSY, NO_TURN, ChangedMeanwhile, ProgramStore, StoredProgram
from app.timestamps import Now

# Simultaneous calls of one program; each of them may be stored after all others.
ATTEMPTS = 50
UPGRADED = "Reprise was upgraded while the program played the replay: play it again."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlayedProgram:
    """A replay that its program plays."""

    stored: StoredProgram
    prepared: Prepared

    @property
    def case(self) -> TestCase:
        return self.prepared.case

    @property
    def turn(self) -> int:
        return self.stored.row.turn

    @property
    def has_turn(self) -> bool:
        """Whether there is a turn that is not answered yet."""
        return not is_void(self.case) and self.turn < len(self.case.played)

    @property
    def is_over(self) -> bool:
        """Whether no turn is left to ask."""
        return self.stored.row.stopped or not self.has_turn


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedPrograms:
    database: Database
    now: Now
    preparation: Preparation
    store: ProgramStore

    def find(self, *, project_id: int, replay_id: int) -> PlayedProgram:
        """Return a replay that its program plays now. Raises `NotFound`, and `Conflict` if it does not."""
        ids = {"project_id": project_id, "replay_id": replay_id}
        with self.database.read() as connection:
            row = require(replays.find_replay(connection, **ids), "There is no such replay.")
            stored = self.store.find(connection, **ids)
            if stored is None or row.claim != PLAYED_BY_PROGRAM or row.finished:
                raise Conflict(f"The replay is not one that a program plays now: {row.status}.")
            if stored.row.events is not None:
                return PlayedProgram(stored, self.preparation.prepare(connection, row, stored.transcript))
        end = {"status": "error", "error": UPGRADED, "finished_at": self.now(), "claim": None}
        self.database.retrying(partial(program_replays.leave_replay, of=stored.row, values=end))
        raise Conflict(UPGRADED)

    def open(self, row: ProgramReplay) -> PlayedProgram:
        """Return a replay with a turn to answer. Raises `Conflict` without one."""
        played = self.find(project_id=row.project_id, replay_id=row.replay_id)
        if played.is_over:
            raise Conflict(NO_TURN)
        return played

    def hand_over(self, row: ProgramReplay) -> None:
        """Let a worker judge the replay."""
        self.database.retrying(partial(program_replays.leave_replay, of=row, values={"claim": None}))


def repeated(attempt: Callable[[], T]) -> T:
    """Return the result of an attempt during which the transcript was not changed. Raises `Conflict`."""
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except ChangedMeanwhile:
            continue
    raise Conflict(BUSY)
