"""Scores: how good a session, turn, step or run is by some measure. They are kept with it, or until it comes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, fields, replace
from operator import itemgetter
from typing import Annotated, Literal, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Double,
    Index,
    String,
    UniqueConstraint,
    case,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
)

from app.models import bulk, queries
from app.models.base import BigInt, MediumText, binary, exact, new_table, no_index
from app.models.span_bodies import SpanKey
from app.models.spans import spans
from app.models.turns import turns
from app.otlp.evaluations import COMMENT_MAX

SESSION_MAX = 10_000
"""The scores that are read of one session, the earliest first."""
READ_MAX = 2 * COMMENT_MAX
"""Characters that are read of a comment: masking may make it longer, and earlier releases stored it whole."""
BRIEF, WHOLE_MAX = 800, 200
"""Bytes that are first read of each comment of a session, and how many longer comments are then read whole."""

THUMBS = "thumbs"
"""The name of the score that a person gives on a session's page: true for good, false for bad."""

Source = Literal["otlp", "api", "person", "check"]
"""Where a score comes from: telemetry, a program that used the API, a person on a page, or an online check."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score of a session (`session_key`), a turn (`trace_id`), a step (with `span_id`) or a run.

    The label of a category is its name. A score that is true or false has the value 1 or 0 and that word as its label.
    `score_id` is the id that a program chose.
    """

    # Digest of what identifies the score: a score that is sent again is stored once.
    digest: Annotated[bytes, binary(16)]
    score_id: Annotated[str | None, exact(128)]
    session_key: Annotated[bytes | None, binary(16)]
    trace_id: Annotated[bytes | None, binary(16)]
    span_id: Annotated[bytes | None, binary(8)]
    run_id: Annotated[int | None, BigInt]
    time_ns: Annotated[int, BigInt]
    name: Annotated[str, exact(255)]
    value: Annotated[float | None, Double]
    label: Annotated[str | None, String(255)]
    comment: Annotated[str | None, MediumText]
    source: Annotated[str, exact(16)]

    @property
    def id(self) -> str:
        """The score's name in the API."""
        return self.score_id or self.digest.hex()

    @property
    def shown_label(self) -> str | None:
        """The label for people: thumbs are good or bad."""
        thumbs = {"true": "good", "false": "bad"} if self.name == THUMBS else {}
        return thumbs.get(self.label or "", self.label)

    @property
    def key(self) -> SpanKey | None:
        """The key of the span that is scored."""
        return (self.trace_id, self.span_id) if self.trace_id and self.span_id else None


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The scores of a name with values from `least` to `most`; None means no limit."""

    name: str
    least: float | None = None
    most: float | None = None

    def of_run(self, project_id: int, run_id: ColumnElement[int]) -> ColumnElement[bool]:
        """Return the condition that a run has such a score."""
        return self._any(_C.run_id == run_id, no_index(_C.project_id) == project_id)

    def of_session(self, project_id: int, session_key: ColumnElement[bytes]) -> ColumnElement[bool]:
        """Return the condition that a session, or one of its turns or spans, has such a score."""
        t, of_project = turns.c, no_index(_C.project_id) == project_id
        of_turns = self._any(
            no_index(t.project_id) == project_id,
            t.session_key == session_key,
            _C.project_id == t.project_id,
            _C.trace_id == t.trace_id,
            of_project,
        )
        return or_(of_turns, self._any(_C.session_key == session_key, of_project))

    def _any(self, *scored: ColumnElement[bool]) -> ColumnElement[bool]:
        """Return the condition that there is a score. Its limit keeps MariaDB from reading all scores for one page.

        Each run or session is looked up by itself: SQLite would read all scores of the name for each of them.
        """
        statement = select(literal(1)).where(*scored, no_index(_C.name) == self.name)
        if self.least is not None:
            statement = statement.where(_C.value >= self.least)
        if self.most is not None:
            statement = statement.where(_C.value <= self.most)
        return statement.limit(1).scalar_subquery() == 1


# Without foreign keys, like spans. `prompt_id` and `waiting_since` as in log records.
scores = new_table(
    "scores",
    ScoreRow,
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt, nullable=True),
    Column("waiting_since", BigInt, nullable=True),
    UniqueConstraint("project_id", "digest"),
    Index("ix_scores_project_id_trace_id_span_id", "project_id", "trace_id", "span_id"),
    Index("ix_scores_prompt_id", "prompt_id"),
    Index("ix_scores_project_id_waiting_since", "project_id", "waiting_since"),
    # For the lists of a project's scores, and of those of one name.
    Index("ix_scores_project_id_id", "project_id", "id"),
    Index("ix_scores_project_id_name_id", "project_id", "name", "id"),
    Index("ix_scores_session_key", "session_key"),
    Index("ix_scores_run_id", "run_id"),
)

SCORE_COLUMNS = (
    "project_id",
    "digest",
    "prompt_id",
    "trace_id",
    "span_id",
    "time_ns",
    "name",
    "value",
    "label",
    "comment",
    "source",
    "waiting_since",
)
NewScore = tuple[int, bytes, int | None, bytes, bytes, int, str, float | None, str | None, str | None, str, int | None]
"""A row that telemetry brings, in the order of COLUMNS."""

_KEY = ("project_id", "digest")
_PUT = ("project_id", "prompt_id", "waiting_since", *(field.name for field in fields(ScoreRow)))
_CHANGES: dict[str, bulk.Rule] = dict.fromkeys((name for name in _PUT if name not in _KEY), "new")

_C = scores.c
_SIZE = queries.bytes_of(_C.comment)


def _cut(characters: int, size: int) -> ColumnElement[str | None]:
    """Return the comment if it has at most `size` bytes, else its beginning."""
    return case((size < _SIZE, func.substr(_C.comment, 1, characters)), else_=_C.comment)


_COLUMNS = queries.columns_of(ScoreRow, scores, comment=_cut(READ_MAX, 4 * READ_MAX))
_BRIEF = queries.columns_of(ScoreRow, scores, comment=_cut(BRIEF, BRIEF))
_SELECT = select(*_COLUMNS)


def insert_new(connection: Connection, rows: Sequence[NewScore]) -> int:
    """Store the new ones of `rows`; returns their number."""
    # In key order, as two batches may have the same.
    return bulk.insert_new(connection, "scores", SCORE_COLUMNS, sorted(rows, key=itemgetter(1)))


def put(
    connection: Connection, given: Sequence[tuple[ScoreRow, int | None]], *, project_id: int, waiting_since: int
) -> None:
    """Store scores, each with its prompt. They replace scores of the project with the same digests."""
    # In key order, as two batches may have the same.
    rows = [
        (project_id, prompt_id, waiting_since, *astuple(score))
        for score, prompt_id in sorted(given, key=lambda pair: pair[0].digest)
    ]
    bulk.upsert(connection, "scores", _PUT, rows, key=_KEY, update=_CHANGES)


def find(connection: Connection, *, project_id: int, digests: Sequence[bytes]) -> ScoreRow | None:
    """Return the project's score with the first digest of the list that a score has."""
    rows = find_all(connection, project_id=project_id, digests=digests)
    return next((rows[digest] for digest in digests if digest in rows), None)


def find_all(connection: Connection, *, project_id: int, digests: Sequence[bytes]) -> dict[bytes, ScoreRow]:
    """Return the project's scores with one of these digests, by their digests."""
    rows: dict[bytes, ScoreRow] = {}
    for piece in queries.pieces(digests):
        statement = _SELECT.where(_C.project_id == project_id, _C.digest.in_(piece))
        rows |= {row.digest: row for row in queries.list_rows(connection, ScoreRow, statement)}
    return rows


def remove(connection: Connection, *, project_id: int, digest: bytes) -> bool:
    """Delete a score; returns whether the project had it."""
    return bool(queries.delete_rows(connection, scores, project_id=project_id, digest=digest))


def remove_of_sessions(connection: Connection, *, project_id: int, session_keys: Collection[bytes]) -> None:
    """Delete the scores of whole sessions."""
    connection.execute(delete(scores).where(no_index(_C.project_id) == project_id, _C.session_key.in_(session_keys)))


def remove_of_turns(connection: Connection, *, project_id: int, trace_ids: Sequence[bytes]) -> None:
    """Delete the scores of whole turns, but not if the trace still has spans: another prompt may have a turn of it."""
    stored = exists().where(spans.c.project_id == project_id, spans.c.trace_id == _C.trace_id)
    of_turns = select(_C.id).where(_C.project_id == project_id, _C.span_id.is_(None), ~stored)
    for piece in queries.pieces(trace_ids):
        ids = sorted(connection.scalars(of_turns.where(_C.trace_id.in_(piece))))
        connection.execute(delete(scores).where(no_index(_C.project_id) == project_id, _C.id.in_(ids)))


class ListedScore(NamedTuple):
    """A score with the id of its row."""

    id: int
    row: ScoreRow


def listed(
    connection: Connection, *, project_id: int, name: str | None, run_id: int | None, before_id: int | None, limit: int
) -> list[ListedScore]:
    """List a project's scores, the last one stored first."""
    statement = select(_C.id, *_COLUMNS).where(_C.project_id == project_id)
    conditions = [_C.name == name] if name is not None else []
    conditions += [_C.run_id == run_id] if run_id is not None else []
    page = queries.newest_first(statement.where(*conditions), _C.id, before_id=before_id, limit=limit)
    return [ListedScore(id_, ScoreRow(*row)) for id_, *row in connection.execute(page)]


def scores_of(
    connection: Connection, *, project_id: int, trace_ids: Sequence[bytes], session_key: bytes
) -> list[ScoreRow]:
    """List the scores of traces, their spans and a session, in the order of their times, at most SESSION_MAX.

    The first WHOLE_MAX comments that are longer than BRIEF bytes are read whole; the others are cut, and end with `…`.
    """
    rows = _with_cut_comments(connection, no_index(_C.project_id) == project_id, _C.session_key == session_key)
    for piece in queries.pieces(trace_ids):
        rows += _with_cut_comments(connection, _C.project_id == project_id, _C.trace_id.in_(piece))
        rows = sorted(rows, key=lambda row: row[0].time_ns)[:SESSION_MAX]
    long = [score.digest for score, is_cut in rows if is_cut]
    whole = find_all(connection, project_id=project_id, digests=long[:WHOLE_MAX])
    return [
        whole.get(score.digest) or (replace(score, comment=f"{score.comment}…") if is_cut else score)
        for score, is_cut in rows
    ]


def _with_cut_comments(connection: Connection, *conditions: ColumnElement[bool]) -> list[tuple[ScoreRow, bool]]:
    """List scores with the first BRIEF bytes of their comments, each with whether its comment is longer."""
    statement = select(*_BRIEF, _SIZE > BRIEF).where(*conditions).order_by(_C.time_ns, _C.id).limit(SESSION_MAX)
    return [(ScoreRow(*row), bool(is_cut)) for *row, is_cut in connection.execute(statement)]
