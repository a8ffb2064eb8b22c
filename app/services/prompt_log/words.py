"""The text search in a prompt's log: in sessions by the index, and in the texts of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from sqlalchemy import Connection

from app.models import run_log
from app.models.run_log import EXCERPT_MAX, RunEntry
from app.models.sessions import SessionRow
from app.search.query import Query
from app.services.prompt_log.query import Entry, LogPosition, Row
from app.services.search.service import FoundTurn, Hit, Places, SearchService, part_with
from app.services.sessions.service import SessionSummary
from app.sessions.turn_texts import TEXT_MAX

EXACT_AT_ONCE, READ_AT_ONCE = 200, 20
IsOver = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class RunHit:
    """The first text of a run that matches a query: an excerpt, and the places of the words in it."""

    kind: Literal["question", "answer"]
    text: str
    places: Places


@dataclass(frozen=True, slots=True)
class FoundRun(RunEntry):
    """A matching run. `hit` is None if neither of its texts shows a word of the query."""

    hit: RunHit | None


@dataclass(frozen=True, slots=True)
class FoundSession(SessionSummary):
    """A matching session. `hit` is None if no text of its turn shows a word of the query."""

    hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class LogWords:
    """A query of the text search, and the first matching turn of each session that matched."""

    search: SearchService
    query: Query
    turns: dict[str, FoundTurn]

    @property
    def at_once(self) -> int:
        """The number of entries that are searched together: more if the index suffices than if texts are read."""
        return EXACT_AT_ONCE if self.query.is_exact else READ_AT_ONCE

    def matching(
        self, connection: Connection, project_id: int, rows: Sequence[Row], is_over: IsOver
    ) -> tuple[int, list[Row]]:
        """Return how many of the first entries were searched, and which of them match.

        Once `is_over`, fewer entries are searched, but at least one.
        """
        known = self._known(connection, project_id, rows, is_over)
        searched = next((index for index, row in enumerate(rows) if LogPosition.of(row) not in known), len(rows))
        return searched, [row for row in rows[:searched] if known[LogPosition.of(row)]]

    def _known(
        self, connection: Connection, project_id: int, rows: Sequence[Row], is_over: IsOver
    ) -> dict[LogPosition, bool]:
        """Return whether entries match: the first sessions and the first runs, as many as time allows."""
        sessions = {row.session_key: row for row in rows if isinstance(row, SessionRow)}
        first = self.search.first_turns(
            connection, project_id=project_id, query=self.query, session_keys=list(sessions), is_over=is_over
        )
        self.turns.update((key.hex(), turn) for key, turn in first.items() if turn)
        known = {LogPosition.of(sessions[key]): turn is not None for key, turn in first.items()}
        runs = [row for row in rows if isinstance(row, RunEntry)]
        for run, texts in self._texts(connection, project_id, runs, is_over):
            known[LogPosition.of(run)] = self.query.matches(texts)
        return known

    @staticmethod
    def _texts(
        connection: Connection, project_id: int, runs: Sequence[RunEntry], is_over: IsOver
    ) -> Iterator[tuple[RunEntry, tuple[str, str]]]:
        """Yield runs with their question and answer until the time is over, at least one."""
        for start in range(0, len(runs), READ_AT_ONCE):
            piece = runs[start : start + READ_AT_ONCE]
            excerpts = {run.id: (run.question, run.answer or "") for run in piece}
            cut = [id_ for id_, texts in excerpts.items() if max(map(len, texts)) >= EXCERPT_MAX]
            whole = run_log.texts_of(connection, project_id=project_id, run_ids=cut, most=TEXT_MAX) if cut else {}
            for index, run in enumerate(piece, start):
                if index and is_over():
                    return
                yield run, whole.get(run.id, excerpts[run.id])

    def with_hits(
        self, connection: Connection, project_id: int, entries: Sequence[Entry], is_over: IsOver
    ) -> list[Entry]:
        """Return entries with their hits, as many as time allows, at least one."""
        first = [self.turns[entry.id] for entry in entries if isinstance(entry, SessionSummary)]
        hits = self.search.hits(connection, project_id=project_id, query=self.query, first=first, is_over=is_over)
        by_session = {key.hex(): hit for key, hit in hits.items()}
        runs = [entry for entry in entries if isinstance(entry, RunEntry)]
        by_run = {run.id: self._hit(texts) for run, texts in self._texts(connection, project_id, runs, is_over)}
        return list(_joined(entries, by_session, by_run))

    def _hit(self, texts: tuple[str, str]) -> RunHit | None:
        kinds: tuple[Literal["question", "answer"], ...] = ("question", "answer")
        parts = ((kind, part_with(self.query, text)) for kind, text in zip(kinds, texts, strict=True))
        return next((RunHit(kind, *part) for kind, part in parts if part), None)


def _joined(
    entries: Sequence[Entry], by_session: Mapping[str, Hit | None], by_run: Mapping[int, RunHit | None]
) -> Iterator[Entry]:
    """Yield entries with their hits, up to the first entry without a known hit."""
    for entry in entries:
        values = {field.name: getattr(entry, field.name) for field in fields(entry)}
        if isinstance(entry, RunEntry):
            if entry.id not in by_run:
                return
            yield FoundRun(**values, hit=by_run[entry.id])
        else:
            if entry.id not in by_session:
                return
            yield FoundSession(**values, hit=by_session[entry.id])
