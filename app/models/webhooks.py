"""Webhooks of projects: the addresses that receive events, with their sealed secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from sqlalchemy import Boolean, Column, Connection, Index, func, or_, select, update

from app.models import organizations, queries
from app.models.base import BigInt, ExactText, Json, Timestamp, exact, new_table, reference
from app.models.rejected_spans import rejected_spans

Format = Literal["json", "slack"]


class WebhookEvent(StrEnum):
    """An event that is sent to webhooks."""

    VERSION_COMMITTED = "version.committed"
    LABEL_MOVED = "label.moved"
    EXPERIMENT_FINISHED = "experiment.finished"
    GUARD_MAP_FINISHED = "guard_map.finished"
    MODEL_DRIFTED = "model.drifted"
    COVERAGE_FELL = "coverage.fell"
    FINDING_OPENED = "finding.opened"
    FINDING_REOPENED = "finding.reopened"
    SPANS_REJECTED = "spans.rejected"
    ALERT_STARTED = "alert.started"
    ALERT_ENDED = "alert.ended"


TEST_EVENT = "webhook.test"
"""The event of a test, which a person sends to one webhook."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """`events` are names of `WebhookEvent`; a disabled webhook gets no events, and its waiting deliveries stay."""

    id: int
    project_id: int
    url: Annotated[str, ExactText]
    format: Annotated[Format, exact(8)]
    events: Annotated[list[str], Json]
    enabled: Annotated[bool, Boolean]
    created_at: Annotated[datetime, Timestamp]
    updated_at: Annotated[datetime, Timestamp]


webhooks = new_table(
    "webhooks",
    reference("project_id", "projects"),
    Webhook,
    # Encrypted by `CredentialCipher`. The old secret is also used for signatures until it expires.
    Column("secret", ExactText, nullable=False),
    Column("old_secret", ExactText, nullable=True),
    Column("old_secret_until", Timestamp, nullable=True),
    # The end of a worker's reservation, or of the pause after a failure. Nothing is sent for the webhook before.
    Column("busy_until", Timestamp, nullable=True),
    # The newest rejected span that was reported to the webhook.
    Column("rejected_id", BigInt, nullable=False),
    Index("ix_webhooks_project_id", "project_id"),
)
_C = webhooks.c
_SELECT = select(*queries.columns_of(Webhook, webhooks))


@dataclass(frozen=True, slots=True)
class Secrets:
    """The sealed secrets of a webhook."""

    secret: str
    old_secret: str | None
    old_secret_until: datetime | None


_SECRETS = select(*queries.columns_of(Secrets, webhooks))


def list_webhooks(connection: Connection, *, project_id: int) -> list[Webhook]:
    """List a project's webhooks, oldest first."""
    return queries.list_rows(connection, Webhook, _SELECT.where(_C.project_id == project_id).order_by(_C.id))


def projects_that_want(connection: Connection, events: Collection[str]) -> list[int]:
    """List the projects with an enabled webhook for one of the events."""
    rows = connection.execute(select(_C.project_id, _C.events).where(_C.enabled))
    return sorted({project_id for project_id, wanted in rows if not set(wanted).isdisjoint(events)})


def find_webhook(connection: Connection, *, project_id: int, webhook_id: int) -> Webhook | None:
    statement = _SELECT.where(_C.id == webhook_id, _C.project_id == project_id)
    return queries.find_row(connection, Webhook, statement)


def find_secrets(connection: Connection, *, project_id: int, webhook_id: int) -> Secrets | None:
    statement = _SECRETS.where(_C.id == webhook_id, _C.project_id == project_id)
    return queries.find_row(connection, Secrets, statement)


def change_webhook(connection: Connection, *, project_id: int, webhook_id: int, values: Mapping[str, Any]) -> bool:
    """Set columns of a webhook; return False if the project has no such webhook."""
    statement = update(webhooks).where(_C.id == webhook_id, _C.project_id == project_id)
    return queries.changes_row(connection, statement.values(**values))


def reserve(connection: Connection, *, webhook_id: int, now: datetime, until: datetime) -> bool:
    """Reserve the webhook for a worker until `until`; return False if it is reserved or disabled."""
    free = update(webhooks).where(_C.id == webhook_id, _C.enabled, or_(_C.busy_until.is_(None), _C.busy_until <= now))
    return queries.changes_row(connection, free.values(busy_until=until))


def free_at(connection: Connection, *, webhook_id: int, when: datetime) -> None:
    """End the reservation of the webhook at `when`."""
    queries.update_rows(connection, webhooks, {"id": webhook_id}, busy_until=when)


@dataclass(frozen=True, slots=True)
class UnreportedRejections:
    """A webhook and the rejected spans that were not reported to it, those with ids in (reported_id, newest_id]."""

    webhook_id: int
    project_id: int
    events: list[str]
    reported_id: int
    newest_id: int


def unreported_rejections(connection: Connection, *, limit: int) -> list[UnreportedRejections]:
    """List enabled webhooks with unreported rejected spans, alternating between organizations."""
    r = rejected_spans.c
    newest = select(r.id).where(r.project_id == _C.project_id).order_by(r.id.desc()).limit(1).scalar_subquery()
    columns = (_C.id, _C.project_id, _C.events, _C.rejected_id)
    statement = select(*columns, newest).where(_C.enabled, newest > _C.rejected_id)
    in_turn = organizations.in_turn(statement, _C.project_id, _C.rejected_id, _C.id)
    return queries.list_rows(connection, UnreportedRejections, in_turn.limit(limit))


def mark_reported(connection: Connection, unreported: UnreportedRejections) -> bool:
    """Mark these spans as reported to the webhook; returns False if another process has done so."""
    unmoved = update(webhooks).where(_C.id == unreported.webhook_id, _C.rejected_id == unreported.reported_id)
    return queries.changes_row(connection, unmoved.values(rejected_id=unreported.newest_id))


def forget_reused_ids(connection: Connection) -> None:
    """Lower positions above the newest rejected span: SQLite reuses the ids of removed rows."""
    newest = connection.scalar(select(func.max(rejected_spans.c.id))) or 0
    connection.execute(update(webhooks).where(_C.rejected_id > newest).values(rejected_id=newest))
