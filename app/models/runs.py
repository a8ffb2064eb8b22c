"""Runs: one row for every call of a prompt, with its files; its state only moves forward."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    Select,
    UniqueConstraint,
    and_,
    bindparam,
    insert,
    select,
)

from app.chat import Tokens
from app.models.base import BigInt, MediumBlob, MediumText, Timestamp, exact, new_table, no_index, reference
from app.models.compression import CompressedStruct, CompressedText, raw_of
from app.models.language_models import language_models, vendor_credentials
from app.models.organizations import projects
from app.models.queries import columns_of, find_row, insert_rows, list_rows, pieces
from app.models.searchable_text import SearchableText


class StoredFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of a request; its content is stored in `run_file_chunks` until the run ends. `size` is in bytes."""

    file_name: str
    content_type: str
    size: int


class StoredToolCall(msgspec.Struct, frozen=True):
    """A tool call as a run stores it; `arguments` is decoded JSON, or a text that is no JSON."""

    id: str
    name: str
    arguments: Any


class StoredMessage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A message of the conversation before a run's question; a `Message` without files and vendor state."""

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: list[StoredToolCall] = []
    tool_call_id: str | None = None


class StoredRequest(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The column `request`. `resolved` and `ignored` are those of a `Rendering`.

    `text` is the filled prompt, until the run ends. `sealed`: text and question are stored, encrypted, with the files.
    `history` is the conversation that the question goes on with, if there is one.
    """

    text: str | UnsetType = UNSET
    format: str
    config: dict[str, Any]
    fallback_model_id: int | None = None
    productive: bool = True
    stream: bool = False
    resolved: dict[str, str | None]
    ignored: list[str]
    files: list[StoredFile]
    history: list[StoredMessage] | UnsetType = UNSET
    sealed: bool | UnsetType = UNSET


class StoredCost(msgspec.Struct, frozen=True):
    """In USD."""

    prompt: float
    completion: float
    total: float


class StoredOutcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The column `outcome`: what is known of an answer besides its text.

    `first_error` is why the prompt's first model did not answer, `masked` whether the model's own answer differs, and
    `estimated` whether the vendor did not report all of the tokens.
    """

    tokens: Tokens
    cost: StoredCost
    chain_of_thoughts: str | None = None
    tool_calls: list[StoredToolCall] = []
    first_error: str | None = None
    masked: bool = False
    estimated: bool = False


RunStatus = Literal["queued", "running", "done", "failed", "cancelled"]
UNFINISHED = ("queued", "running")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The columns of a run that lists show too; its model is the one that answered or is to answer.

    `nok` ("not OK") is why a run that is done has an unusable answer, such as one that breaks its JSON Schema.
    """

    id: int
    created_at: Annotated[datetime, Timestamp]
    finished_at: Annotated[datetime | None, Timestamp]
    source: Annotated[str, exact(8)]
    status: Annotated[RunStatus, exact(16)]
    nok: Annotated[str | None, MediumText]
    error: Annotated[str | None, MediumText]
    error_kind: Annotated[str | None, exact(32)]
    commit_hash: Annotated[str | None, exact(64)]
    model_name: str
    vendor: str
    question: Annotated[str, SearchableText]
    answer: Annotated[str | None, SearchableText]
    response_time_ms: Annotated[int | None, Integer]


@dataclass(frozen=True, slots=True)
class RunRow(RunSummary):
    """A run with its request and outcome."""

    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    organization_id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    api_key_id: Annotated[int | None, BigInt]
    request: Annotated[StoredRequest, CompressedStruct(StoredRequest)]
    language_model_id: Annotated[int, BigInt]
    instruction: Annotated[str | None, CompressedText]
    outcome: Annotated[StoredOutcome | None, CompressedStruct(StoredOutcome)]
    started_at: Annotated[datetime | None, Timestamp]

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class ClaimedRunRow(RunRow):
    """A run that a worker executes, with the credential that its organization stored for the model's vendor, if any."""

    encrypted_key: str | None
    base_url: str | None


runs = new_table(
    "runs",
    RunRow,
    Column("prompt_tokens", Integer, nullable=False, server_default="0"),
    Column("completion_tokens", Integer, nullable=False, server_default="0"),
    Column("cost_usd", Float, nullable=False, server_default="0"),
    # The worker's claim, and its last heartbeat.
    Column("claim", exact(36)),
    Column("alive_at", Timestamp),
    Index("ix_runs_prompt_id_created_at_id", "prompt_id", "created_at", "id"),
    Index("ix_runs_project_id_created_at", "project_id", "created_at"),
    Index("ix_runs_status_project_id_created_at", "status", "project_id", "created_at"),
)


_OF_MODEL = {"model_name": language_models.c.name, "vendor": language_models.c.vendor}
_OF_CREDENTIAL = {"encrypted_key": vendor_credentials.c.encrypted_key, "base_url": vendor_credentials.c.base_url}


def _rows(of: type[RunRow], **columns: ColumnElement[Any]) -> Select[Any]:
    return (
        select(*columns_of(of, runs, organization_id=projects.c.organization_id, **_OF_MODEL, **columns))
        .join(projects, projects.c.id == runs.c.project_id)
        .join(language_models, language_models.c.id == runs.c.language_model_id)
    )


_ROW = _rows(RunRow)
# Built once, since every run executes these statements.
_FIND_RUN = _ROW.where(runs.c.id == bindparam("run_id"), runs.c.project_id == bindparam("of_project"))
_STATUS = select(runs.c.status).where(runs.c.id == bindparam("run_id"))
_FIND_RUNS = _ROW.where(runs.c.id.in_(bindparam("run_ids", expanding=True)))
_TEXTS = ("question", "answer", "request", "instruction", "outcome")
_FIND_STORED = _rows(RunRow, **{name: raw_of(runs.c[name]) for name in _TEXTS}).where(
    runs.c.id.in_(bindparam("run_ids", expanding=True)), runs.c.project_id.in_(bindparam("project_ids", expanding=True))
)
_CLAIMED = (
    _rows(ClaimedRunRow, **_OF_CREDENTIAL)
    .outerjoin(
        vendor_credentials,
        and_(
            vendor_credentials.c.organization_id == projects.c.organization_id,
            vendor_credentials.c.vendor == language_models.c.vendor,
        ),
    )
    .where(runs.c.claim == bindparam("token"))
)
_FIND_CLAIMED = _CLAIMED.where(runs.c.id.in_(bindparam("run_ids", expanding=True)))
_FIND_CLAIMED_ONE = _CLAIMED.where(runs.c.id == bindparam("run_id"))
_ADD = insert(runs)


def add_runs(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert runs that have the same columns; returns their ids, in the order of the rows."""
    if len(rows) == 1:
        return [int(connection.execute(_ADD, rows[0]).lastrowid)]
    return insert_rows(connection, runs, rows)


def find_run(connection: Connection, *, project_id: int, run_id: int) -> RunRow | None:
    return find_row(connection, RunRow, _FIND_RUN, {"run_id": run_id, "of_project": project_id})


def prompts_of(connection: Connection, *, project_id: int, run_ids: Collection[int]) -> dict[int, int]:
    """Return the prompts of the project's runs among these, by the runs' ids."""
    prompt_ids: dict[int, int] = {}
    for piece in pieces(sorted(run_ids)):
        ran = select(runs.c.id, runs.c.prompt_id).where(no_index(runs.c.project_id) == project_id, runs.c.id.in_(piece))
        prompt_ids.update((run_id, prompt_id) for run_id, prompt_id in connection.execute(ran))
    return prompt_ids


def find_runs(connection: Connection, *, run_ids: Collection[int]) -> list[RunRow]:
    """List the runs that exist, of any project: the caller checks `project_id`."""
    return list_rows(connection, RunRow, _FIND_RUNS, {"run_ids": list(run_ids)})


RunKey = tuple[int, int]
"""The ids of a run's project and of the run."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with its texts in their stored forms, which may have a thousandth of the bytes."""

    _row: RunRow

    @property
    def length(self) -> int:
        """The bytes of its texts; of a text that is stored unchanged, the characters."""
        return sum(of_column.length(stored) for _, of_column, stored in self._texts())

    def opened(self) -> RunRow:
        """Return the run; raises `ValueError` for one that is damaged."""
        dialect: Any = None  # none of the types depends on it
        return replace(
            self._row,
            **{name: of_column.process_result_value(stored, dialect) for name, of_column, stored in self._texts()},
        )

    def _texts(self) -> Iterator[tuple[str, Any, str]]:
        for name in _TEXTS:
            if (stored := getattr(self._row, name)) is not None:
                yield name, runs.c[name].type, stored


def find_stored(connection: Connection, keys: Collection[RunKey]) -> dict[RunKey, StoredRun]:
    """Return the runs that these projects have, by their keys."""
    project_ids, run_ids = ({key[place] for key in keys} for place in (0, 1))
    rows = list_rows(connection, RunRow, _FIND_STORED, {"run_ids": sorted(run_ids), "project_ids": sorted(project_ids)})
    return {(row.project_id, row.id): StoredRun(row) for row in rows}


def is_finished(connection: Connection, *, run_id: int) -> bool:
    """Return whether the run has ended; False for a run that does not exist."""
    status = connection.scalar(_STATUS, {"run_id": run_id})
    return status is not None and status not in UNFINISHED


def find_claimed(connection: Connection, *, run_ids: Sequence[int], token: str) -> list[ClaimedRunRow]:
    """Return the runs that the worker with `token` has claimed."""
    if len(run_ids) == 1:
        return list_rows(connection, ClaimedRunRow, _FIND_CLAIMED_ONE, {"run_id": run_ids[0], "token": token})
    return list_rows(connection, ClaimedRunRow, _FIND_CLAIMED, {"run_ids": run_ids, "token": token})


CHUNK_BYTES = 4 * 1024 * 1024

run_file_chunks = new_table(
    "run_file_chunks",
    reference("run_id", "runs"),
    Column("position", Integer, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("content", MediumBlob, nullable=False),
    UniqueConstraint("run_id", "position", "chunk"),
)


def add_files(connection: Connection, *, run_id: int, contents: Sequence[bytes]) -> None:
    """Store files, with one statement for each piece: a statement of several could exceed MySQL's packet limit."""
    for position, content in enumerate(contents):
        for chunk, start in enumerate(range(0, len(content), CHUNK_BYTES)):
            values = {"run_id": run_id, "position": position, "chunk": chunk}
            piece = content[start : start + CHUNK_BYTES]
            connection.execute(insert(run_file_chunks).values(content=piece, **values))


def read_files(connection: Connection, *, run_id: int, count: int) -> list[bytes]:
    """Return the contents of the run's `count` files, in order."""
    return [read_file(connection, run_id=run_id, position=position) for position in range(count)]


def read_file(connection: Connection, *, run_id: int, position: int) -> bytes:
    """Return the content of the file at `position` in a run; empty if there is none."""
    c = run_file_chunks.c
    pieces = select(c.content).where(c.run_id == run_id, c.position == position).order_by(c.chunk)
    return b"".join(connection.scalars(pieces))
