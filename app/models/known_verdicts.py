"""Verdicts that apply again where a replay of the same test case asks the same question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import Connection, ForeignKey, Index, UniqueConstraint, delete, select

from app.models import cases
from app.models.base import BigInt, Json, Timestamp, exact, new_table, no_index
from app.models.queries import columns_of, list_rows, pieces, put_row

DecidedBy = Literal["person", "judge"]


@dataclass(frozen=True, slots=True)
class KnownVerdict:
    """A verdict of a person or a judge; `digest` is one of `app.replay.verdict_digests`.

    `findings` are those of a judge, as the JSON of `app.replay.judge_types.JudgeFinding`.
    """

    digest: Annotated[str, exact(64)]
    decided_by: Annotated[DecidedBy, exact(8)]
    verdict: Annotated[Literal["passed", "failed"], exact(8)]
    findings: Annotated[list[dict[str, Any]], Json]
    created_at: Annotated[datetime, Timestamp]


@dataclass(frozen=True, slots=True)
class KnownVerdictRow(KnownVerdict):
    """A stored verdict, with the test case that it was given for."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    # No foreign key: it is deleted with its test case.
    test_case_id: Annotated[int, BigInt]


known_verdicts = new_table(
    "known_verdicts",
    KnownVerdictRow,
    UniqueConstraint("test_case_id", "digest"),
    Index("ix_known_verdicts_prompt_id", "prompt_id"),
    Index("ix_known_verdicts_project_id_created_at", "project_id", "created_at"),
)
_C = known_verdicts.c


@dataclass(frozen=True, slots=True)
class KnownScope:
    """The test case that verdicts belong to."""

    project_id: int
    prompt_id: int
    test_case_id: int


def find_known(
    connection: Connection, scope: KnownScope, digests: Collection[str], *, judged_since: datetime
) -> dict[str, KnownVerdict]:
    """Return the verdicts with these digests, by digest. Those of judges are left out if older than `judged_since`."""
    verdicts: dict[str, KnownVerdict] = {}
    for piece in pieces(sorted(digests)):
        statement = select(*columns_of(KnownVerdict, known_verdicts)).where(
            no_index(_C.project_id) == scope.project_id, _C.test_case_id == scope.test_case_id, _C.digest.in_(piece)
        )
        for row in list_rows(connection, KnownVerdict, statement):
            if row.decided_by == "person" or row.created_at >= judged_since:
                verdicts[row.digest] = row
    return verdicts


def put_known(
    connection: Connection, scope: KnownScope, verdicts: Sequence[KnownVerdict], *, judged_since: datetime
) -> None:
    """Store verdicts, each in the place of an earlier one with the same digest, unless the test case was deleted.

    Removes the verdicts of judges that are older than `judged_since`.
    """
    if not verdicts or not _exists(connection, scope):
        return
    of_case = (no_index(_C.project_id) == scope.project_id, _C.test_case_id == scope.test_case_id)
    connection.execute(delete(known_verdicts).where(*of_case, _C.decided_by == "judge", _C.created_at < judged_since))
    owners = {"project_id": scope.project_id, "prompt_id": scope.prompt_id}
    for verdict in sorted(verdicts, key=lambda verdict: verdict.digest):
        values = asdict(verdict)
        key = {"test_case_id": scope.test_case_id, "digest": values.pop("digest")}
        put_row(connection, known_verdicts, key=key, values=values, new=owners)


def _exists(connection: Connection, scope: KnownScope) -> bool:
    prompt_id = cases.find_prompt_of(connection, project_id=scope.project_id, test_case_id=scope.test_case_id)
    return prompt_id is not None
