"""Stores what a program did in a replay: read, changed under the lock of its row, and removed when it is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
from sqlalchemy import Connection

from app.database.transactions import Database
from app.encryption import ContentCipher
from app.errors import Conflict, Invalid
from app.models import program_replays
from app.models.program_replays import ProgramReplay
from app.replay.program import BegunCall, ProgramAnswer, ProgramEvent, Transcript, TurnStopped
from app.values.structs import decode

EVENTS_MAX = 1000
"""Calls of models and of tools in one replay."""
TRANSCRIPT_BYTES = 4 * 1024 * 1024
NO_TURN = "The replay has no turn that the program could answer."
_PLAIN, _ENCRYPTED = b"\0", b"\1"


class ChangedMeanwhile(Conflict):
    """Another request of the program has changed the transcript: read it again."""


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program's side of a replay, with what happened so far."""

    row: ProgramReplay
    transcript: Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStore:
    database: Database
    cipher: ContentCipher

    def find(self, connection: Connection, *, project_id: int, replay_id: int) -> StoredProgram | None:
        row = program_replays.find_program(connection, project_id=project_id, replay_id=replay_id)
        return None if row is None else StoredProgram(row, self._transcript(row.transcript))

    def add(self, stored: StoredProgram, event: ProgramEvent) -> StoredProgram:
        """Add an event; returns what is stored then.

        Raises `ChangedMeanwhile`, and `Invalid` for more than a replay may have.
        """
        events = (*stored.transcript.events, event)
        if excess := _excess(events):
            raise Invalid(excess)

        def work(connection: Connection) -> StoredProgram:
            locked = self._locked(connection, stored.row, version=stored.row.version)
            if locked is None:
                raise ChangedMeanwhile("Another call of the program came at the same time; send this one again.")
            return self._put(connection, locked.row, events)

        return self.database.retrying(work)

    def begin(self, row: ProgramReplay, call: BegunCall) -> None:
        """Keep a place for a call of a model, before the call is paid.

        Raises `Conflict` if the turn of the call is not played now. Raises `Invalid` where the replay has all that it
        may have; the replay then ends with this turn.
        """

        def work(connection: Connection) -> str | None:
            stored = self._locked(connection, row)
            if stored is None or not self._is_played(connection, stored, call.turn):
                raise Conflict(NO_TURN)
            before = stored.transcript.events
            excess = _excess((*before, call))
            self._put(connection, stored.row, (*before, TurnStopped(call.turn, excess) if excess else call))
            return excess

        if excess := self.database.retrying(work):
            raise Invalid(excess)

    def end(
        self,
        row: ProgramReplay,
        call: BegunCall,
        event_of: Callable[[Transcript | None], ProgramEvent],
        usage: Mapping[str, float],
    ) -> Transcript | None:
        """Replace a begun call by its event, and add the call's usage to the replay's in any case.

        Returns what is stored then; None if the turn of the call has ended meanwhile. `event_of` gets what is stored
        before, or None in that case. Raises `Invalid` for more than a replay may have; the replay then ends with this
        turn.
        """

        def work(connection: Connection) -> tuple[Transcript | None, str | None]:
            stored = self._locked(connection, row)
            program_replays.count_usage(connection, of=row, usage=usage)
            if stored is None:
                return None, None
            before = _without(stored.transcript, call)
            is_played = self._is_played(connection, stored, call.turn)
            events = (*before.events, event_of(before if is_played else None))
            if excess := _excess(events):
                events = (*before.events, TurnStopped(call.turn, excess))
            after = self._put(connection, stored.row, events)
            return after.transcript if is_played else None, excess

        after, excess = self.database.retrying(work)
        if excess:
            raise Invalid(excess)
        return after

    def count_failed(self, row: ProgramReplay, usage: Mapping[str, float]) -> None:
        """Add to the replay's usage that of a begun call that has failed, which stays a begun call."""
        self.database.retrying(partial(program_replays.count_usage, of=row, usage=usage))

    def _locked(
        self, connection: Connection, row: ProgramReplay, *, version: int | None = None
    ) -> StoredProgram | None:
        ids = {"project_id": row.project_id, "replay_id": row.replay_id}
        locked = program_replays.lock_program(connection, **ids, version=version)
        return None if locked is None else StoredProgram(locked, self._transcript(locked.transcript))

    def _is_played(self, connection: Connection, stored: StoredProgram, turn: int) -> bool:
        return stored.transcript.is_played(turn) and program_replays.is_played(connection, of=stored.row)

    def _put(self, connection: Connection, row: ProgramReplay, events: Sequence[ProgramEvent]) -> StoredProgram:
        written = msgspec.json.encode(events)
        kept = _ENCRYPTED + self.cipher.encrypt(written) if self.cipher else _PLAIN + written
        program_replays.put_transcript(connection, of=row, transcript=kept)
        return StoredProgram(replace(row, transcript=kept), Transcript(events))

    def _transcript(self, kept: bytes | None) -> Transcript:
        if kept is None:
            return Transcript()
        written = self.cipher.decrypt(kept[1:]) if kept[:1] == _ENCRYPTED else kept[1:]
        return Transcript(tuple(decode(written, list[ProgramEvent])))


def _without(transcript: Transcript, call: BegunCall) -> Transcript:
    return Transcript(tuple(event for event in transcript.events if event != call))


def _excess(events: Sequence[ProgramEvent]) -> str | None:
    """Return why a replay may not have these events, of which the last one is new. A replay can always end."""
    if isinstance(events[-1], TurnStopped):
        return None
    calls = sum(not isinstance(event, ProgramAnswer | TurnStopped) for event in events)
    if calls > EVENTS_MAX and not isinstance(events[-1], ProgramAnswer):
        return f"A replay of a program has at most {EVENTS_MAX} calls of models and tools."
    if len(msgspec.json.encode(events)) > TRANSCRIPT_BYTES:
        return f"The calls of a replay have at most {TRANSCRIPT_BYTES // 2**20} MiB together."
    return None
