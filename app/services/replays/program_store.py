"""Stores what a program did in a replay: read, added to by one writer at a time, and removed when it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec
from sqlalchemy import Connection

from app.database.transactions import Database
from app.encryption import ContentCipher
from app.errors import Conflict, Invalid
from app.models import program_replays
from app.models.program_replays import ProgramReplay
from app.replay.program import ProgramEvent, Transcript
from app.values.structs import decode

EVENTS_MAX = 1000
"""Calls of models, and answers of the program, in one replay."""
TRANSCRIPT_BYTES = 4 * 1024 * 1024
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

    def add(self, stored: StoredProgram, event: ProgramEvent, usage: Mapping[str, float]) -> StoredProgram:
        """Add an event, and the usage of its call to the replay's; returns what is stored then.

        Raises `ChangedMeanwhile`, and `Invalid` for more than a replay may have.
        """
        events = [*stored.transcript.events, event]
        written = msgspec.json.encode(events)
        if len(events) > EVENTS_MAX:
            raise Invalid(f"A replay of a program has at most {EVENTS_MAX} calls of models.")
        if len(written) > TRANSCRIPT_BYTES:
            raise Invalid(f"The calls of a replay have at most {TRANSCRIPT_BYTES // 2**20} MiB together.")
        kept = _ENCRYPTED + self.cipher.encrypt(written) if self.cipher else _PLAIN + written

        def work(connection: Connection) -> None:
            if not program_replays.put_transcript(connection, before=stored.row, transcript=kept):
                raise ChangedMeanwhile("Another call of the program came at the same time; send this one again.")
            program_replays.count_usage(connection, of=stored.row, usage=usage)

        self.database.retrying(work)
        row = replace(stored.row, version=stored.row.version + 1, transcript=kept)
        return StoredProgram(row, Transcript(tuple(events)))

    def _transcript(self, kept: bytes | None) -> Transcript:
        if kept is None:
            return Transcript()
        written = self.cipher.decrypt(kept[1:]) if kept[:1] == _ENCRYPTED else kept[1:]
        return Transcript(tuple(decode(written, list[ProgramEvent])))
