"""The findings that were seen, and what people have decided about them: who works on one, and which version solved it.

The sessions of a finding are computed (`app.suites.findings`). One without a row is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from sqlalchemy import Connection, ForeignKey, Index, UniqueConstraint, select

from app.models import queries
from app.models.base import BigInt, JsonStruct, Timestamp, binary, exact, new_table, no_index
from app.suites.findings import Subject

FindingState = Literal["open", "in_work", "solved"]


@dataclass(frozen=True, slots=True)
class FindingRow:
    """The state of a finding. `digest` is that of its subject.

    `assignee_id` is a member of the organization, or one who has left. `solved_version` is the hash of the version that
    solved it, None if no version is known. A finding that was solved and came back is open with both. `changed_at` is
    the time of the last decision, or when its sessions were last seen, to a day.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    digest: Annotated[bytes, binary(16)]
    subject: Annotated[Subject, JsonStruct(Subject)]
    state: Annotated[FindingState, exact(16)]
    assignee_id: Annotated[int | None, BigInt]
    solved_version: Annotated[str | None, exact(64)]
    solved_at: Annotated[datetime | None, Timestamp]
    changed_at: Annotated[datetime, Timestamp]

    @property
    def is_decided(self) -> bool:
        """Whether somebody has decided something about it."""
        return self.state != "open" or self.assignee_id is not None or self.solved_at is not None


findings = new_table(
    "findings",
    FindingRow,
    UniqueConstraint("prompt_id", "digest"),
    Index("ix_findings_project_id_changed_at", "project_id", "changed_at"),
)
_C = findings.c


def list_findings(connection: Connection, *, project_id: int, prompt_id: int) -> list[FindingRow]:
    """List the findings of a prompt that were seen, oldest first."""
    statement = select(*queries.columns_of(FindingRow, findings))
    of_prompt = statement.where(_C.prompt_id == prompt_id, no_index(_C.project_id) == project_id)
    return queries.list_rows(connection, FindingRow, of_prompt.order_by(_C.id))
