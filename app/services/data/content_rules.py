"""Rules (see `Invariant`) that damaged contents break. They read whole rows: only `reprise doctor --deep` uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache

import msgspec
from sqlalchemy import Connection, Table, select
from sqlalchemy.exc import OperationalError

from app.models import prompt_versions, queries
from app.models.base import no_index
from app.models.calibrations import calibrations
from app.models.cases import test_cases
from app.models.experiments import experiments
from app.models.invariants import DAMAGED, FindBroken, Invariant
from app.models.judge_audits import judge_audits
from app.models.language_models import LanguageModel, find_model
from app.models.log_records import log_records
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, list_heads, prompts
from app.models.replays import replays
from app.models.runs import runs
from app.services.prompts.content import commit_hash, content_of, parse_placeholders

ROWS_IN_MEMORY = 10
"""Rows that are read together: each may have some megabytes."""
_NO_UTF_8 = "Could not decode to UTF-8"  # a message of SQLite's driver

ModelOf = Callable[[int], LanguageModel | None]


def _unreadable(table: Table) -> FindBroken:
    def broken(connection: Connection, project_id: int, ids: Sequence[int], _now: datetime) -> Iterable[int]:
        rows = select(table).where(no_index(table.c.project_id) == project_id)
        for piece in queries.pieces(ids, ROWS_IN_MEMORY):
            try:
                connection.execute(rows.where(table.c.id.in_(piece))).all()
            except msgspec.MsgspecError as error:
                raise ValueError(str(error)) from error
            except OperationalError as error:
                if _NO_UTF_8 in str(error.orig):
                    raise ValueError(str(error.orig)) from error
                raise
        return ()

    return broken


def _changed_versions(connection: Connection, project_id: int, ids: Sequence[int], _now: datetime) -> Iterator[int]:
    for head in list_heads(connection, project_id=project_id, prompt_ids=ids):
        model = cache(lambda id_, of=head.organization_id: find_model(connection, organization_id=of, model_id=id_))
        if any(_is_changed(head, row, model) for row in prompt_versions.contents_of(connection, prompt_id=head.id)):
            yield head.id


def _is_changed(head: PromptHead, row: VersionRow, model_of: ModelOf) -> bool:
    model, fallback = model_of(row.language_model_id), row.fallback_model_id and model_of(row.fallback_model_id)
    if not model or (row.fallback_model_id and not fallback):
        return True
    content = content_of(head, row, parse_placeholders(row.placeholders), model, fallback or None)
    return commit_hash(content, parent=row.parent_hash) != row.commit_hash


CONTENT_RULES = (
    *(
        Invariant(f"contents of {table.name}", table, _unreadable(table), "The rows can be read.", DAMAGED, slow=True)
        for table in (prompts, test_cases, runs, replays, experiments, calibrations, judge_audits, log_records)
    ),
    Invariant(
        "versions",
        prompts,
        _changed_versions,
        "The content of each version has the version's hash.",
        DAMAGED,
        prompts.c.erased_at.is_(None),
        slow=True,
    ),
)
