"""The audit log. Each entry is written in the transaction of its change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from sqlalchemy import Column, Connection, Index, String, select

from app.models import organizations, queries
from app.models.base import BigInt, Json, Timestamp, exact, new_table


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change: a signed-in user, an API key, or Reprise itself."""

    kind: Literal["user", "api_key", "system"]
    id: int | None
    name: str


SYSTEM = Actor("system", None, "Reprise")


class Action(StrEnum):
    """An audited action: its stored name, and the label that people read in front of the subject."""

    label: str

    def __new__(cls, name: str, label: str) -> Action:
        action = str.__new__(cls, name)
        action._value_, action.label = name, label
        return action

    ALERT_RULE_CHANGED = "alert_rule.changed", "Changed the alert rule on"
    ALERT_RULE_CREATED = "alert_rule.created", "Created the alert rule on"
    ALERT_RULE_REMOVED = "alert_rule.removed", "Removed the alert rule on"
    API_KEY_CREATED = "api_key.created", "Created the API key"
    API_KEY_REVOKED = "api_key.revoked", "Revoked the API key"
    CREDENTIAL_CLEARED = "credential.cleared", "Removed the credential for"
    CREDENTIAL_SET = "credential.set", "Stored the credential for"
    DATA_POLICY_CHANGED = "data_policy.changed", "Changed the data policy of"
    FINDING_CHANGED = "finding.changed", "Changed the finding"
    IDENTITY_LINKED = "identity.linked", "Linked to an OpenID provider the account of"
    INVITATION_CREATED = "invitation.created", "Invited"
    INVITATION_WITHDRAWN = "invitation.withdrawn", "Withdrew the invitation of"
    LABEL_CHANGED = "label.changed", "Changed the guard of a label of"
    LABEL_DELETED = "label.deleted", "Deleted a label of"
    LABEL_MOVED = "label.moved", "Moved a label of"
    MEMBER_JOINED = "member.joined", "Joined as"
    MEMBER_REMOVED = "member.removed", "Removed the member"
    MEMBER_ROLE_CHANGED = "member.role_changed", "Changed the role of"
    MODEL_ADDED = "model.added", "Added the model"
    MODEL_CHANGED = "model.changed", "Changed the model"
    MODEL_REMOVED = "model.removed", "Removed the model"
    ONLINE_CHECK_ADDED = "online_check.added", "Added the online check"
    ONLINE_CHECK_CHANGED = "online_check.changed", "Changed the online check"
    ONLINE_CHECK_REMOVED = "online_check.removed", "Removed the online check"
    PASSWORD_CHANGED = "password.changed", "Changed the password of"
    PASSWORD_RESET = "password.reset", "Reset by a link the password of"
    PRICE_SET = "price.set", "Set the price of"
    PRICE_REMOVED = "price.removed", "Removed the price of"
    PROJECT_CREATED = "project.created", "Created the project"
    PROJECT_ERASED = "project.erased", "Erased the project"
    PROJECT_RENAMED = "project.renamed", "Renamed the project to"
    PROMPT_ARCHIVED = "prompt.archived", "Archived the prompt"
    PROMPT_CHANGED = "prompt.changed", "Changed the draft of"
    PROMPT_COMMITTED = "prompt.committed", "Committed"
    PROMPT_CREATED = "prompt.created", "Created the prompt"
    PROMPT_ERASED = "prompt.erased", "Erased the prompt"
    PROMPT_RESTORED = "prompt.restored", "Restored into the draft of"
    PROMPT_UNARCHIVED = "prompt.unarchived", "Unarchived the prompt"
    PROGRAM_REPLAYED = "program.replayed", "Gave a program access to the replay"
    REPLAY_JUDGED = "replay.judged", "Judged a step of the replay"
    SCORE_GIVEN = "score.given", "Scored"
    SCORE_REMOVED = "score.removed", "Removed the score"
    SESSION_DELETED = "session.deleted", "Deleted the session"
    SESSION_FILTER_DELETED = "session_filter.deleted", "Deleted the saved filter"
    SESSION_FILTER_SAVED = "session_filter.saved", "Saved the filter"
    SIGN_IN_FAILED = "sign_in.failed", "Failed to sign in as"
    SCHEDULE_CHANGED = "schedule.changed", "Changed the schedule"
    SCHEDULE_CREATED = "schedule.created", "Created the schedule"
    SCHEDULE_DELETED = "schedule.deleted", "Deleted the schedule"
    SUITE_CHANGED = "suite.changed", "Changed the suite"
    SUITE_CREATED = "suite.created", "Created the suite"
    SUITE_DELETED = "suite.deleted", "Deleted the suite"
    TEST_CASE_CHANGED = "test_case.changed", "Changed the test case"
    TEST_CASE_CREATED = "test_case.created", "Created the test case"
    TEST_CASE_DELETED = "test_case.deleted", "Deleted the test case"
    WEBHOOK_CHANGED = "webhook.changed", "Changed the webhook to"
    WEBHOOK_CREATED = "webhook.created", "Created the webhook to"
    WEBHOOK_REMOVED = "webhook.removed", "Removed the webhook to"
    WEBHOOK_SECRET_ROTATED = "webhook.secret_rotated", "Rotated the secret of the webhook to"


_ACTIONS = {str(action): action for action in Action}


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry. `action` is an `Action` or the name of a later release's action; `subject` names the changed thing."""

    id: int
    project_id: Annotated[int | None, BigInt]
    actor_kind: Annotated[str, exact(16)]
    actor_name: Annotated[str, String(254)]
    action: Annotated[str, exact(64)]
    subject: Annotated[str, String(254)]
    details: Annotated[dict[str, Any], Json]
    created_at: Annotated[datetime, Timestamp]

    @property
    def label(self) -> str:
        """The action in words, in front of the subject."""
        known = _ACTIONS.get(self.action)
        return known.label if known else self.action.replace(".", " ").replace("_", " ").capitalize()


audit_log = new_table(
    "audit_log",
    AuditEntry,
    # No foreign keys: an entry outlives the rows that it refers to.
    Column("organization_id", BigInt, nullable=False),
    Column("actor_id", BigInt),
    Index("ix_audit_log_organization_id_id", "organization_id", "id"),
)


def note(
    connection: Connection,
    now: datetime,
    actor: Actor,
    action: Action,
    subject: str,
    details: Mapping[str, Any] | None = None,
    *,
    organization_id: int | None = None,
    project_id: int | None = None,
) -> int:
    """Write an entry on a change, in the change's own transaction; returns the entry's id.

    Without `organization_id` the entry belongs to the project's organization; raises `NotFound` if the project is
    erased. `details` name what changed. The only text of a person in them is the reason of an override.
    """
    if organization_id is None:
        organization_id = organizations.require_project(connection, project_id or 0).organization_id
    return queries.insert_row(
        connection,
        audit_log,
        organization_id=organization_id,
        project_id=project_id,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name[:254],
        action=action,
        subject=subject[:254],
        details=dict(details or {}),
        created_at=now,
    )


def note_of_user(
    connection: Connection,
    now: datetime,
    actor: Actor,
    action: Action,
    *,
    user_id: int,
    email: str,
    joins: Iterable[int] = (),
) -> None:
    """Write an entry on a change of an account in each organization that it is a member of, or `joins` now."""
    for organization_id in sorted({*organizations.roles_of(connection, user_id=user_id), *joins}):
        note(connection, now, actor, action, email, organization_id=organization_id)


def list_entries(
    connection: Connection, *, organization_id: int, before_id: int | None, limit: int
) -> list[AuditEntry]:
    """List an organization's entries, newest first."""
    ours = select(*queries.columns_of(AuditEntry, audit_log)).where(audit_log.c.organization_id == organization_id)
    page = queries.newest_first(ours, audit_log.c.id, before_id=before_id, limit=limit)
    return queries.list_rows(connection, AuditEntry, page)
