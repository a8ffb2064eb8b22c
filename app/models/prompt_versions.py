"""Content of prompts that never changes, so that caches can keep what is derived from it.

A person or an API key commits a version; a replay of a draft makes a snapshot of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    String,
    Table,
    Text,
    UniqueConstraint,
    or_,
    select,
    type_coerce,
)

from app.models import queries
from app.models.base import BigInt, Json, MediumText, Timestamp, exact, new_table
from app.values.structs import convert


@dataclass(frozen=True, slots=True)
class VersionHead:
    """A version as lists show it; the author is None for a commit by an API key."""

    id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    commit_hash: Annotated[str, exact(64)]
    parent_hash: Annotated[str | None, exact(64)]
    message: Annotated[str, String(500)]
    # A member of the organization; NULL for a commit with an API key.
    author_id: Annotated[int | None, BigInt]
    author_name: Annotated[str | None, String(128)]
    created_at: Annotated[datetime, Timestamp]


@dataclass(frozen=True, slots=True)
class VersionRow(VersionHead):
    """A version with its content. `config` and `placeholders` are as in a draft."""

    value: Annotated[str, MediumText]
    language_model_id: Annotated[int, BigInt, ForeignKey("language_models.id")]
    fallback_model_id: Annotated[int | None, BigInt]
    config: Annotated[dict[str, Any], Json]
    placeholders: Annotated[list[dict[str, Any]], Json]


prompt_versions = new_table(
    "prompt_versions",
    VersionRow,
    # The commit hash without the parent: equal contents share it in all versions and drafts.
    Column("content_hash", exact(64), nullable=False, server_default=""),
    UniqueConstraint("prompt_id", "commit_hash"),
    Index("ix_prompt_versions_language_model_id", "language_model_id"),
)


VERSION_HEAD = queries.columns_of(VersionHead, prompt_versions)
_VERSION = select(*queries.columns_of(VersionRow, prompt_versions))
_C = prompt_versions.c
# Configurations that are in memory at once: each may have 2 MB.
CONFIGS_AT_ONCE = 20


def messages_by_hash(connection: Connection, *, prompt_id: int, hashes: Collection[str]) -> dict[str, str]:
    """Return the messages of the prompt's versions with these commit hashes; other hashes are left out."""
    versions = select(_C.commit_hash, _C.message).where(_C.prompt_id == prompt_id)
    messages: dict[str, str] = {}
    for piece in queries.pieces(sorted(hashes)):
        rows = connection.execute(versions.where(_C.commit_hash.in_(piece)))
        messages |= {row.commit_hash: row.message for row in rows}
    return messages


def find_version(connection: Connection, *, prompt_id: int, commit_hash: str) -> VersionRow | None:
    statement = _VERSION.where(_C.prompt_id == prompt_id, _C.commit_hash == commit_hash)
    return queries.find_row(connection, VersionRow, statement)


def find_version_by_id(connection: Connection, *, version_id: int) -> VersionRow | None:
    return queries.find_row(connection, VersionRow, _VERSION.where(_C.id == version_id))


def contents_of(connection: Connection, *, prompt_id: int) -> Iterator[VersionRow]:
    """Yield a prompt's versions with their contents; few are in memory at once."""
    ids = list(connection.scalars(select(_C.id).where(_C.prompt_id == prompt_id)))
    contents = _VERSION.where(_C.prompt_id == prompt_id)
    for piece in queries.pieces(ids, CONFIGS_AT_ONCE):
        yield from queries.list_rows(connection, VersionRow, contents.where(_C.id.in_(piece)))


def list_versions(connection: Connection, *, prompt_id: int, limit: int | None = None) -> list[VersionHead]:
    """List a prompt's versions, newest first, at most `limit`."""
    statement = select(*VERSION_HEAD).where(_C.prompt_id == prompt_id)
    return queries.list_rows(connection, VersionHead, queries.newest_first(statement, _C.id, limit=limit))


def count_versions(connection: Connection, *, prompt_id: int) -> int:
    return queries.count_rows(connection, select(_C.id).where(_C.prompt_id == prompt_id))


def newest_version(connection: Connection, *, prompt_id: int, before: datetime) -> str | None:
    """Return the hash of the newest version that was committed by then; None if there was none."""
    committed = select(_C.commit_hash).where(_C.prompt_id == prompt_id, _C.created_at <= before)
    newest: str | None = connection.scalar(queries.newest_first(committed, _C.id, limit=1))
    return newest


def tools_of_versions(
    connection: Connection, *, prompt_id: int, commit_hashes: Collection[str]
) -> dict[str, frozenset[str]]:
    """Return the names of the tools that versions define, by commit hash; few configurations are in memory at once."""
    named = select(_C.commit_hash, _C.config).where(_C.prompt_id == prompt_id)
    tools: dict[str, frozenset[str]] = {}
    for piece in queries.pieces(sorted(commit_hashes), CONFIGS_AT_ONCE):
        rows = connection.execute(named.where(_C.commit_hash.in_(piece)))
        tools.update({row[0]: _tool_names(row[1]) for row in rows})
    return tools


def ever_defined_tools(connection: Connection, *, prompt_id: int) -> bool:
    """Return True if any version of the prompt defines a tool; few configurations are in memory at once."""
    # First only the ids: to sort the configurations, a database reads all of them.
    ids = list(connection.scalars(queries.newest_first(select(_C.id).where(_C.prompt_id == prompt_id), _C.id)))
    # What a config with tools holds as text; one without may hold it in a JSON Schema, hence the second look.
    candidates = select(_C.config).where(_C.prompt_id == prompt_id, type_coerce(_C.config, Text).contains('"tools":['))
    return any(
        _tool_names(config)
        for piece in queries.pieces(ids, CONFIGS_AT_ONCE)
        for config in connection.scalars(candidates.where(_C.id.in_(piece)))
    )


def _tool_names(config: dict[str, Any]) -> frozenset[str]:
    return frozenset(tool["name"] for tool in config.get("tools", ()))


def hashes_by_content(connection: Connection, *, prompt_id: int, content_hashes: Collection[str]) -> dict[str, str]:
    """Return {content hash: commit hash of the newest version with it} of the contents that were committed."""
    if not content_hashes:
        return {}
    statement = select(_C.content_hash, _C.commit_hash).where(
        _C.prompt_id == prompt_id, _C.content_hash.in_(sorted(content_hashes))
    )
    return {row[0]: row[1] for row in connection.execute(statement.order_by(_C.id))}


def content_hash_of(connection: Connection, *, prompt_id: int, commit_hash: str) -> str | None:
    """Return the hash of a version's content; None for an unknown version."""
    statement = select(_C.content_hash).where(_C.prompt_id == prompt_id, _C.commit_hash == commit_hash)
    return connection.scalar(statement)


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """The content of a draft; `config` and `placeholders` are stored as in `prompts`."""

    id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    fingerprint: Annotated[str, exact(64)]
    value: Annotated[str, MediumText]
    language_model_id: Annotated[int, BigInt, ForeignKey("language_models.id")]
    config: Annotated[dict[str, Any], Json]
    placeholders: Annotated[list[dict[str, Any]], Json]
    instruction_format: Annotated[Any, exact(8)]


class TextChange(msgspec.Struct, frozen=True):
    """A content that differs from another one of its prompt by its text only.

    The characters from `begin` to `end` of the text with the fingerprint `of` are replaced by `by`.
    """

    of: str
    begin: int
    end: int
    by: str

    def applied(self, row: SnapshotRow) -> SnapshotRow:
        """Return the content that the change makes of another one; `id` and `fingerprint` are the other one's."""
        return replace(row, value=row.value[: self.begin] + self.by + row.value[self.end :])


# A change is stored as an object in the place of the placeholders, with the text "" and the configuration {}. A process
# of a release that knows no changes fails to read such a row, rather than playing an empty text.
draft_snapshots = new_table(
    "draft_snapshots",
    SnapshotRow,
    # {"name", "revision", "dirty"} of a program, in the place of a text; NULL for the prompt's own content.
    Column("external", Json),
    UniqueConstraint("prompt_id", "fingerprint"),
    Index("ix_draft_snapshots_language_model_id", "language_model_id"),
)


_SNAPSHOT = select(*queries.columns_of(SnapshotRow, draft_snapshots))


def put_snapshot(connection: Connection, *, values: dict[str, Any]) -> int:
    """Store the content unless it is stored already; returns its id. One that is stored as a change is stored whole."""
    key = {name: values[name] for name in ("prompt_id", "fingerprint")}
    queries.put_row(connection, draft_snapshots, key=key, new=values)
    c = draft_snapshots.c
    snapshot_id, has_text = connection.execute(select(c.id, c.value != "").filter_by(**key)).one()
    if not has_text:
        whole = {name: value for name, value in values.items() if name not in key}
        connection.execute(draft_snapshots.update().filter_by(**key).values(whole))
    return int(snapshot_id)


def put_change(connection: Connection, *, base: SnapshotRow, change: TextChange, fingerprint: str) -> int:
    """Store the content that a change makes of `base`, unless it is stored already; returns its id."""
    key = {"prompt_id": base.prompt_id, "fingerprint": fingerprint}
    stored: dict[str, Any] = {"value": "", "config": {}, "placeholders": msgspec.to_builtins(change), "external": None}
    kept = {name: getattr(base, name) for name in ("language_model_id", "instruction_format")}
    queries.put_row(connection, draft_snapshots, key=key, new=stored | kept)
    return int(connection.scalars(select(draft_snapshots.c.id).filter_by(**key)).one())


def snapshot_ids(connection: Connection, *, prompt_id: int, fingerprints: Collection[str]) -> dict[str, int]:
    """Return the ids of the prompt's stored contents, by their fingerprints."""
    c = draft_snapshots.c
    statement = select(c.fingerprint, c.id).where(c.prompt_id == prompt_id, c.fingerprint.in_(sorted(fingerprints)))
    return {row[0]: row[1] for row in connection.execute(statement)}


def get_snapshot(connection: Connection, *, snapshot_id: int) -> SnapshotRow:
    """Return a stored content, whole if it is stored as a change."""
    c = draft_snapshots.c
    row = SnapshotRow(*connection.execute(_SNAPSHOT.where(c.id == snapshot_id)).one())
    if isinstance(row.placeholders, list):
        return row
    change = convert(row.placeholders, TextChange)
    changed = _SNAPSHOT.where(c.prompt_id == row.prompt_id, c.fingerprint == change.of)
    base = SnapshotRow(*connection.execute(changed).one())
    return replace(change.applied(base), id=row.id, fingerprint=row.fingerprint)


def is_unchanged(snapshots: Table) -> ColumnElement[bool]:
    """Return the condition that no content of a prompt is stored as a change of these ones."""
    of = draft_snapshots.alias("of")
    stored = type_coerce(of.c.placeholders, Text).contains(snapshots.c.fingerprint)
    using = select(of.c.id).where(of.c.prompt_id == snapshots.c.prompt_id, of.c.value == "", stored)
    return or_(snapshots.c.value == "", using.limit(1).scalar_subquery().is_(None))
