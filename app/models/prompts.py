"""Prompts: the part that all versions share, and the draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DefaultClause,
    ForeignKey,
    Index,
    Integer,
    String,
    bindparam,
    func,
    select,
    update,
)

from app.errors import NotFound, require
from app.models import bulk, queries
from app.models.base import BigInt, Json, MediumText, Timestamp, exact, new_table
from app.models.cases import test_cases
from app.models.labels import Labels, LabelsJson
from app.models.organizations import projects
from app.models.prompt_versions import VERSION_HEAD, VersionHead, prompt_versions
from app.rendering.render import InstructionFormat


@dataclass(frozen=True, slots=True)
class PromptHead:
    """A prompt without its content. `language_model_id` is the draft's."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    organization_id: int
    name: Annotated[str, String(128)]
    instruction_format: Annotated[InstructionFormat, exact(8)]
    assertion_type: Annotated[str, exact(16), DefaultClause("STRICT")]
    assertion_value: Annotated[str, MediumText]
    language_model_id: Annotated[int, BigInt, ForeignKey("language_models.id")]
    revision: Annotated[int, Integer, DefaultClause("1")]
    # No foreign key: versions refer to their prompt, and a cycle would need deferred constraints.
    newest_version_id: Annotated[int | None, BigInt]
    # True while the draft equals the newest version. Every change writes it, so that no read has to compare.
    committed: Annotated[bool, Boolean(create_constraint=False), DefaultClause("0")]
    created_at: Annotated[datetime, Timestamp]
    updated_at: Annotated[datetime, Timestamp]
    # Name of the person or API key that last wrote the draft; None for drafts of earlier releases.
    changed_by: Annotated[str | None, String(128)]
    labels: Labels


@dataclass(frozen=True, slots=True)
class PromptRow(PromptHead):
    """A prompt with its draft. `config` and `placeholders` are the JSON of `app/services/prompts/content.py`."""

    commit_hash: ClassVar[None] = None
    value: Annotated[str, MediumText]
    fallback_model_id: Annotated[int | None, BigInt]
    config: Annotated[dict[str, Any], Json]
    placeholders: Annotated[list[dict[str, Any]], Json]


prompts = new_table(
    "prompts",
    PromptRow,
    Column("labels", LabelsJson),
    Column("archived_at", Timestamp),
    # An erased prompt stays as a row without content: nothing is stored for it while processes still know it.
    Column("erased_at", Timestamp),
    Index("ix_prompts_project_id_archived_at", "project_id", "archived_at"),
    Index("ix_prompts_language_model_id", "language_model_id"),
)


_C = prompts.c
# A subquery, not a join: FOR UPDATE locks joined rows too, and all prompts of a project share its row.
_ORGANIZATION = select(projects.c.organization_id).where(projects.c.id == _C.project_id).scalar_subquery()
_LIVE = _C.archived_at.is_(None)
_ARCHIVED = (_C.archived_at.is_not(None), _C.erased_at.is_(None))
# Built once, since every request that reads a prompt executes one of these statements.
_OWN = (_C.id == bindparam("prompt_id"), _C.project_id == bindparam("project_id"), _LIVE)
_FIND_HEAD = select(*queries.columns_of(PromptHead, prompts, organization_id=_ORGANIZATION)).where(*_OWN)
_FIND_PROMPT = select(*queries.columns_of(PromptRow, prompts, organization_id=_ORGANIZATION)).where(*_OWN)


NO_PROMPT = "There is no such prompt."


def require_head(connection: Connection, *, project_id: int, prompt_id: int) -> PromptHead:
    """Return a prompt of the project. Raises `NotFound` for archived prompts and those of other projects."""
    keys = {"prompt_id": prompt_id, "project_id": project_id}
    return require(queries.find_row(connection, PromptHead, _FIND_HEAD, keys), NO_PROMPT)


def list_heads(connection: Connection, *, project_id: int, prompt_ids: Sequence[int]) -> list[PromptHead]:
    """List those of the project's prompts, even archived, but not erased."""
    of_project = (_C.project_id == project_id, _C.id.in_(prompt_ids), _C.erased_at.is_(None))
    statement = select(*queries.columns_of(PromptHead, prompts, organization_id=_ORGANIZATION)).where(*of_project)
    return queries.list_rows(connection, PromptHead, statement)


def require_prompt(connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False) -> PromptRow:
    """Return a prompt of the project with its draft. Raises `NotFound` for archived prompts and other projects' ones.

    With `lock` no other transaction changes the prompt until the commit.
    """
    keys, statement = {"prompt_id": prompt_id, "project_id": project_id}, _FIND_PROMPT
    prompt = queries.find_row(connection, PromptRow, statement.with_for_update() if lock else statement, keys)
    return require(prompt, NO_PROMPT)


def known_prompts(connection: Connection, *, project_id: int, prompt_ids: set[int]) -> set[int]:
    """Return the `prompt_ids` that accept spans: the project's prompts, even archived, but not erased."""
    known: set[int] = set()
    for piece in queries.pieces(sorted(prompt_ids)):
        takes_spans = select(_C.id).where(_C.project_id == project_id, _C.id.in_(piece), _C.erased_at.is_(None))
        known.update(connection.scalars(takes_spans))
    return known


def ids_by_name(connection: Connection, *, project_id: int, names: set[str]) -> dict[str, list[int]]:
    """Return the project's prompts with these names, not archived, by name; at most two of a name."""
    prompt_ids: dict[str, list[int]] = {name: [] for name in names}
    for piece in queries.pieces(sorted(names)):
        rows = connection.execute(select(_C.name, _C.id).where(_C.project_id == project_id, _C.name.in_(piece), _LIVE))
        for name, prompt_id in rows:
            # MySQL compares names without their case and accents.
            if len(prompt_ids.get(name, (0, 0))) < 2:
                prompt_ids[name].append(prompt_id)
    return prompt_ids


def prompt_ids_of(connection: Connection, *, project_id: int) -> list[int]:
    """List the ids of the project's prompts, even archived, but not erased; the newest first."""
    of_project = select(_C.id).where(_C.project_id == project_id, _C.erased_at.is_(None))
    return list(connection.scalars(of_project.order_by(_C.id.desc())))


LABELS_AT_ONCE = 1024 * 1024
"""Bytes of the labels of prompts that are in memory at once: those of a prompt may name thousands of test cases."""


def labels_of(connection: Connection, *, project_id: int, prompt_ids: Sequence[int]) -> Iterator[tuple[int, Labels]]:
    """Yield the ids of the prompts that have labels, with these."""
    of_project = (_C.project_id == project_id, _C.labels.is_not(None), _C.erased_at.is_(None))
    for ids in queries.pieces(prompt_ids):
        sizes = queries.id_pairs(
            connection, select(_C.id, queries.bytes_of(_C.labels)).where(*of_project, _C.id.in_(ids))
        )
        for piece in bulk.by_size(list(sizes), sizes.__getitem__, LABELS_AT_ONCE):
            rows = connection.execute(select(_C.id, _C.labels).where(*of_project, _C.id.in_(piece)))
            yield from ((id_, labels) for id_, labels in rows)


def require_known(connection: Connection, *, project_id: int, prompt_id: int) -> None:
    """Raise `NotFound` for a prompt that is not among `known_prompts`."""
    if not known_prompts(connection, project_id=project_id, prompt_ids={prompt_id}):
        raise NotFound(NO_PROMPT)


@dataclass(frozen=True, slots=True)
class PromptListing:
    """A prompt as lists show it; `language_model_id` is the newest version's, or the draft's without a version."""

    newest: VersionHead | None
    id: int
    name: str
    assertion_type: str
    language_model_id: int
    committed: bool
    created_at: datetime
    updated_at: datetime
    test_cases: int


_LISTED = queries.columns_of(
    PromptListing,
    prompts,
    language_model_id=func.coalesce(prompt_versions.c.language_model_id, _C.language_model_id),
    test_cases=select(func.count()).where(test_cases.c.prompt_id == _C.id).scalar_subquery(),
    newest=prompt_versions.c.id,
)
_NEWEST = (prompt_versions.c.id == _C.newest_version_id) & (prompt_versions.c.prompt_id == _C.id)
_LISTING = select(*_LISTED[1:], *VERSION_HEAD).outerjoin(prompt_versions, _NEWEST)


def _listing(*row: Any) -> PromptListing:
    columns, newest = row[: len(_LISTED) - 1], row[len(_LISTED) - 1 :]
    return PromptListing(VersionHead(*newest) if newest[0] is not None else None, *columns)


# Orders of lists by the columns of the page. In lower case, because SQLite distinguishes case and MySQL does not.
_ORDERS: dict[str, ColumnElement[Any]] = {"created": _C.id, "name": func.lower(_C.name), "changed": _C.updated_at}


def list_prompts(
    connection: Connection,
    *,
    project_id: int,
    search: str | None,
    before_id: int | None,
    limit: int | None,
    archived: bool = False,
    order: str = "-created",
) -> list[PromptListing]:
    """List prompts, or the archived ones; `search` is a part of the name, in any case.

    `order` is `created`, `name` or `changed`, with a minus for descending order; `before_id` is the id of the previous
    page's last prompt.
    """
    statement = queries.in_order(
        _LISTING.where(*_found(project_id, search, archived=archived)),
        _ORDERS[order.removeprefix("-")],
        _C.id,
        descending=order.startswith("-"),
        last_id=before_id,
        limit=limit,
    )
    return queries.list_rows(connection, _listing, statement)


def count_prompts(connection: Connection, *, project_id: int, search: str | None) -> int:
    return queries.count_rows(connection, select(_C.id).where(*_found(project_id, search, archived=False)))


def _found(project_id: int, search: str | None, *, archived: bool) -> list[ColumnElement[bool]]:
    conditions = [_C.project_id == project_id, *(_ARCHIVED if archived else (_LIVE,))]
    return [*conditions, _C.name.icontains(search, autoescape=True)] if search else conditions


def change_draft(
    connection: Connection, *, prompt_id: int, values: dict[str, Any], changed_by: str, now: datetime
) -> None:
    """Write `values` and increase the revision, from which the draft's ETag is made."""
    statement = update(prompts).where(_C.id == prompt_id)
    connection.execute(statement.values(updated_at=now, changed_by=changed_by, revision=_C.revision + 1, **values))


def put_labels(connection: Connection, *, prompt_id: int, labels: Labels) -> None:
    """Replace the labels of a prompt that this transaction has locked. The draft and its ETag do not change."""
    queries.update_rows(connection, prompts, {"id": prompt_id}, labels=labels)


def archive_prompt(connection: Connection, *, project_id: int, prompt_id: int, now: datetime) -> bool:
    """Archive a prompt. Return whether the project has this prompt and it was not archived."""
    statement = update(prompts).where(_C.id == prompt_id, _C.project_id == project_id, _LIVE)
    return queries.changes_row(connection, statement.values(archived_at=now))


def unarchive_prompt(connection: Connection, *, project_id: int, prompt_id: int) -> bool:
    """Make an archived prompt usable again; returns False if it is not archived, or erased."""
    statement = update(prompts).where(_C.id == prompt_id, _C.project_id == project_id, *_ARCHIVED)
    return queries.changes_row(connection, statement.values(archived_at=None))
