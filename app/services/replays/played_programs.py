"""Replays that their programs play: read for a request, and handed over to a worker after the last turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from app.concurrency.caches import BoundedCache
from app.database.transactions import Database
from app.errors import Conflict, require
from app.models import program_replays, replays
from app.models.program_replays import PLAYED_BY_PROGRAM, ProgramReplay
from app.models.replays import ReplayRow
from app.replay.case_types import DeclaredEffect, TestCase
from app.replay.engine import PlayedConversation
from app.replay.program_transcript import ProgramDraft, is_void
from app.replay.stored_replies import StoredReplies
from app.services.replays.memory import PER_BYTE, CaseSizes
from app.services.replays.preparation import Preparation, Prepared, PreparedCase
from app.services.replays.program_memory import PER_MARK, PER_TRANSCRIPT_BYTE
from app.services.replays.program_store import BUSY, NO_TURN, ChangedMeanwhile, ProgramStore, StoredProgram
from app.timestamps import Now
from app.values.budget import WorkBudget

# Simultaneous calls of one program; each of them may be stored after all others.
ATTEMPTS = 50
KEPT_BYTES = 128 * 1024 * 1024
"""Memory of the replays that a process keeps between requests of a program, counted as in `ProgramMemory`."""
UPGRADED = "Reprise was upgraded while the program played the replay: play it again."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A conversation after its first `answers`, with all that it depends on besides the test case and the faults."""

    conversation: PlayedConversation
    draft: ProgramDraft
    proposed: Mapping[str, DeclaredEffect]
    replies: StoredReplies
    budget: WorkBudget
    answers: int


@dataclass(frozen=True, slots=True)
class KeptProgram:
    """What a request of a program leaves for the next one; one of several simultaneous requests gets `conversation`.

    `conversation` is empty while a request has it.
    """

    case: PreparedCase
    stored: StoredProgram
    conversation: list[KeptConversation]


@dataclass(frozen=True, slots=True)
class PlayedProgram:
    """A replay that its program plays. `conversation` is that of its last request in this process, if it is kept."""

    stored: StoredProgram
    prepared: Prepared
    conversation: list[KeptConversation] = field(default_factory=list)

    @property
    def case(self) -> TestCase:
        return self.prepared.case

    @property
    def turn(self) -> int:
        return self.stored.row.turn

    @property
    def has_turn(self) -> bool:
        """Whether there is a turn that is not answered yet."""
        return not is_void(self.case) and self.turn < len(self.case.played_turns)

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
    sizes: CaseSizes
    _kept: BoundedCache[KeptProgram] = field(default_factory=partial(BoundedCache, KEPT_BYTES), init=False)

    def require_played(self, *, project_id: int, replay_id: int) -> PlayedProgram:
        """Return a replay that its program plays now. Raises `NotFound`, and `Conflict` if it does not."""
        ids = {"project_id": project_id, "replay_id": replay_id}
        with self.database.read() as connection:
            row = require(replays.find_replay(connection, **ids), "There is no such replay.")
            key = row.id, row.created_at  # SQLite may use an id again
            kept = self._kept.get(key)
            stored = self.store.find(connection, **ids, known=kept.stored if kept else None)
            if stored is None or row.claim != PLAYED_BY_PROGRAM or row.finished:
                raise Conflict(f"The replay is not one that a program plays now: {row.status}.")
            if stored.row.events is not None:
                case = kept.case if kept else self.preparation.case_of(connection, row)
                prepared = self.preparation.prepare(connection, row, stored.transcript, case)
        if stored.row.events is not None:
            conversation = kept.conversation if kept else []
            if row.case_snapshot_id is not None:  # else the test case may change meanwhile
                self._kept.put(key, KeptProgram(case, stored, conversation), weight=self._weight(row, stored))
            return PlayedProgram(stored, prepared, conversation)
        end = {"status": "error", "error": UPGRADED, "finished_at": self.now(), "claim": None}
        self.database.retrying(partial(program_replays.leave_replay, of=stored.row, values=end))
        raise Conflict(UPGRADED)

    def _weight(self, row: ReplayRow, stored: StoredProgram) -> int:
        size = self.sizes.of(row.case_snapshot_id, row.test_case_id)
        return 1 + size.text * PER_BYTE + size.marks * PER_MARK + stored.row.size * PER_TRANSCRIPT_BYTE

    def open(self, row: ProgramReplay) -> PlayedProgram:
        """Return a replay with a turn to answer. Raises `Conflict` without one."""
        played = self.require_played(project_id=row.project_id, replay_id=row.replay_id)
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
