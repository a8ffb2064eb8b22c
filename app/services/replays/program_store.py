"""Stores what a program did in a replay: rows that are added under the lock of the replay's row, with sums in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import msgspec
from sqlalchemy import Connection

from app.database.transactions import Database
from app.encryption import ContentCipher
from app.errors import Conflict, Invalid
from app.models import program_events, program_replays
from app.models.program_events import RowKind
from app.models.program_replays import ProgramReplay
from app.replay.program_transcript import (
    ModelCall,
    ProgramAnswer,
    ProgramEvent,
    Transcript,
    TurnStopped,
    earlier_transcript,
)
from app.replay.stored_replies import StoredReply
from app.replay.text_reader import COMPARISON_STEPS_MAX
from app.values.structs import decode

CALLS_MAX = 1000
"""Calls of models and of tools in one replay."""
ASKED_MAX = 5000
"""Calls of tools in the models' answers of one replay, as a test case has at most so many steps."""
TRANSCRIPT_BYTES = 4 * 1024 * 1024
BUSY = "Too many calls of the program came at the same time; send this one again."
NO_TURN = "The replay has no turn that the program could answer."
_PLAIN, _ENCRYPTED = b"\0", b"\1"


class ChangedMeanwhile(Conflict):
    """Another request of the program has changed the transcript: read it again."""


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program's side of a replay, with what happened so far; `reply_rows` were read for its replies."""

    row: ProgramReplay
    transcript: Transcript
    reply_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStore:
    database: Database
    cipher: ContentCipher

    def find(
        self, connection: Connection, *, project_id: int, replay_id: int, known: StoredProgram | None = None
    ) -> StoredProgram | None:
        """Return the program's side of a replay; only what is newer than `known`, its earlier state, is read."""
        row = program_replays.find_program(connection, project_id=project_id, replay_id=replay_id)
        if row is None:
            return None
        if row.events is None:
            kept = program_replays.earlier_transcript(connection, of=row)
            return StoredProgram(row, earlier_transcript(self._opened(kept) if kept else b"[]"))
        before = known or StoredProgram(row, Transcript())
        events = self._events(connection, row, since=len(before.transcript.events))
        replies = self._replies(connection, row, since=before.reply_rows)
        transcript = Transcript(
            (*before.transcript.events, *events), (*before.transcript.replies, *chain.from_iterable(replies))
        )
        return StoredProgram(row, transcript, before.reply_rows + len(replies))

    def add(self, stored: StoredProgram, event: ProgramEvent) -> StoredProgram:
        """Add an event; returns what is stored then.

        Raises `ChangedMeanwhile`, and `Invalid` for more than a replay may have.
        """

        def work(connection: Connection) -> StoredProgram:
            locked = self._locked(connection, stored.row)
            if locked is None or locked.events != len(stored.transcript.events):
                raise ChangedMeanwhile(BUSY)
            row, excess = self._put(connection, locked, event, calls=int(not isinstance(event, ProgramAnswer)))
            if excess:
                raise Invalid(excess)
            return StoredProgram(row, Transcript((*stored.transcript.events, event)))

        return self.database.retrying(work)

    def begin(self, row: ProgramReplay, turn: int) -> None:
        """Count a call of a model, before the call is paid.

        Raises `Conflict` if the turn of the call is not played now. Raises `Invalid` where the replay has all that it
        may have; the replay then ends with this turn.
        """

        def work(connection: Connection) -> str | None:
            locked = self._locked(connection, row)
            if locked is None or not _is_played(connection, locked, turn):
                raise Conflict(NO_TURN)
            if excess := _excess(replace(locked, calls=locked.calls + 1)):
                self._put(connection, locked, TurnStopped(turn, excess))
            else:
                program_replays.put_sums(connection, of=replace(locked, calls=locked.calls + 1))
            return excess

        if excess := self.database.retrying(work):
            raise Invalid(excess)

    def end(
        self,
        row: ProgramReplay,
        turn: int,
        known: Transcript,
        event_of: Callable[[Transcript | None], ProgramEvent],
        usage: Mapping[str, float],
    ) -> Transcript | None:
        """Add the event of a begun call, and add the call's usage to the replay's in any case.

        Returns what is stored then; None if the turn of the call has ended meanwhile. `event_of` gets what is stored
        before, or None in that case. `known` is the first part of it. Raises `Invalid` for more than a replay may have;
        the replay then ends with this turn.
        """

        def work(connection: Connection) -> tuple[Transcript | None, str | None]:
            locked = self._locked(connection, row)
            program_replays.count_usage(connection, of=row, usage=usage)
            if locked is None:
                return None, None
            before = None
            if _is_played(connection, locked, turn):
                later = self._events(connection, locked, since=len(known.events))
                before = Transcript((*known.events, *later))
            event = event_of(before)
            _, excess = self._put(connection, locked, event)
            if excess:
                self._put(connection, locked, TurnStopped(turn, excess))
            return before and Transcript((*before.events, event)), excess

        after, excess = self.database.retrying(work)
        if excess:
            raise Invalid(excess)
        return after

    def keep(self, row: ProgramReplay, replies: Sequence[StoredReply | None], steps: int) -> ProgramReplay:
        """Add replies to the calls of an answer, and the `steps` that their comparisons needed; returns the row then.

        `row` counts the replies that were known before. Another request may have added the same ones meanwhile. Raises
        `ChangedMeanwhile` if these differ.
        """
        after = replace(row, replied=row.replied + 1)

        def work(connection: Connection) -> None:
            locked = self._locked(connection, row)
            if locked is None:
                raise ChangedMeanwhile(BUSY)
            later = self._replies(connection, locked, since=row.replied)
            if later and later[0] != replies:
                raise ChangedMeanwhile(BUSY)
            locked = replace(locked, compared=min(locked.compared + steps, COMPARISON_STEPS_MAX))
            if not later:
                locked = replace(locked, replied=after.replied)
                body = self._sealed(msgspec.json.encode(replies))
                program_events.add_event(connection, _owner(row), kind="replies", number=row.replied, body=body)
            program_replays.put_sums(connection, of=locked)

        self.database.retrying(work)
        return after

    def stop(self, row: ProgramReplay, event: TurnStopped) -> None:
        """End the replay with the turn that is played."""

        def work(connection: Connection) -> None:
            locked = self._locked(connection, row)
            if locked is None or not _is_played(connection, locked, event.turn):
                raise ChangedMeanwhile(BUSY)
            self._put(connection, locked, event)

        self.database.retrying(work)

    def count_failed(self, row: ProgramReplay, usage: Mapping[str, float]) -> None:
        """Add to the replay's usage that of a begun call that has failed."""
        self.database.retrying(partial(program_replays.count_usage, of=row, usage=usage))

    def _locked(self, connection: Connection, row: ProgramReplay) -> ProgramReplay | None:
        return program_replays.lock_program(connection, project_id=row.project_id, replay_id=row.replay_id)

    def _put(
        self, connection: Connection, row: ProgramReplay, event: ProgramEvent, *, calls: int = 0
    ) -> tuple[ProgramReplay, str | None]:
        """Add an event to a locked row, and return the row then. Returns why it is not added where it may not be.

        A replay can always end. `calls` is how many calls are counted with the event.
        """
        written, number = msgspec.json.encode(event), row.events or 0
        after = replace(
            row,
            events=number + 1,
            calls=row.calls + calls,
            asked=row.asked + (len(event.answer.tool_calls) if isinstance(event, ModelCall) else 0),
            size=row.size + len(written),
            turn=row.turn + isinstance(event, ProgramAnswer),
            stopped=row.stopped or isinstance(event, TurnStopped),
        )
        if not after.stopped and (excess := _excess(after)):
            return row, excess
        program_replays.put_sums(connection, of=after)
        program_events.add_event(connection, _owner(row), kind="event", number=number, body=self._sealed(written))
        return after, None

    def _events(self, connection: Connection, row: ProgramReplay, *, since: int = 0) -> Sequence[ProgramEvent]:
        return decode(self._list(connection, row, "event", since), list[ProgramEvent])

    def _replies(
        self, connection: Connection, row: ProgramReplay, *, since: int = 0
    ) -> Sequence[list[StoredReply | None]]:
        """Return the replies to the calls of each answer."""
        return decode(self._list(connection, row, "replies", since), list[list[StoredReply | None]])

    def _list(self, connection: Connection, row: ProgramReplay, kind: RowKind, since: int = 0) -> bytes:
        """Return the JSON of a list of the rows of a kind."""
        ids = {"project_id": row.project_id, "replay_id": row.replay_id}
        bodies = program_events.bodies_of(connection, **ids, kind=kind, since=since)
        return b"[" + b",".join(map(self._opened, bodies)) + b"]"

    def _sealed(self, written: bytes) -> bytes:
        return _ENCRYPTED + self.cipher.encrypt(written) if self.cipher else _PLAIN + written

    def _opened(self, kept: bytes) -> bytes:
        return self.cipher.decrypt(kept[1:]) if kept[:1] == _ENCRYPTED else kept[1:]


def _owner(row: ProgramReplay) -> dict[str, int]:
    return {"project_id": row.project_id, "prompt_id": row.prompt_id, "replay_id": row.replay_id}


def _is_played(connection: Connection, row: ProgramReplay, turn: int) -> bool:
    return row.turn == turn and not row.stopped and program_replays.is_played(connection, of=row)


def _excess(row: ProgramReplay) -> str | None:
    """Return why a replay may not have these sums."""
    if row.calls > CALLS_MAX:
        return f"A replay of a program has at most {CALLS_MAX} calls of models and tools."
    if row.asked > ASKED_MAX:
        return f"A replay of a program has at most {ASKED_MAX} calls of tools in its models' answers."
    if row.size > TRANSCRIPT_BYTES:
        return f"The calls of a replay have at most {TRANSCRIPT_BYTES // 2**20} MiB together."
    return None
