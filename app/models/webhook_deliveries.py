"""Deliveries of events to webhooks: each row is a task for the workers and an entry of the log."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import Column, Connection, Index, Integer, String, delete, or_, select, update

from app.models import organizations, prompts, queries, webhooks
from app.models.base import BigInt, Json, Timestamp, exact, new_table
from app.models.webhooks import WebhookEvent

Status = Literal["waiting", "delivered", "failed"]
ERROR_MAX, ANSWER_MAX = 500, 1000


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """An event for one webhook, and the outcome of the last attempt to deliver it.

    `attempts` counts the attempts that began. The next one begins at `due_at` while the status is `waiting`. `error` is
    the reason why the receiver did not answer, and `answer` the beginning of its answer's text.
    """

    id: int
    project_id: Annotated[int, BigInt]
    webhook_id: Annotated[int, BigInt]
    event_id: Annotated[str, exact(40)]
    event: Annotated[str, exact(32)]
    data: Annotated[dict[str, Any], Json]
    status: Annotated[Status, exact(16)]
    attempts: Annotated[int, Integer]
    due_at: Annotated[datetime, Timestamp]
    status_code: Annotated[int | None, Integer]
    error: Annotated[str | None, String(ERROR_MAX)]
    answer: Annotated[str | None, String(ANSWER_MAX)]
    latency_ms: Annotated[int | None, Integer]
    created_at: Annotated[datetime, Timestamp]
    finished_at: Annotated[datetime | None, Timestamp]


# Without foreign keys: prompts and webhooks are erased without waiting for deliveries in progress.
webhook_deliveries = new_table(
    "webhook_deliveries",
    DeliveryRow,
    Column("prompt_id", BigInt, nullable=True),
    Index("ix_webhook_deliveries_webhook_id_id", "webhook_id", "id"),
    Index("ix_webhook_deliveries_webhook_id_status_due_at", "webhook_id", "status", "due_at"),
    Index("ix_webhook_deliveries_project_id_created_at", "project_id", "created_at"),
    Index("ix_webhook_deliveries_prompt_id", "prompt_id"),
)
_C, _W = webhook_deliveries.c, webhooks.webhooks.c
_SELECT = select(*queries.columns_of(DeliveryRow, webhook_deliveries))


def add_event(
    connection: Connection,
    now: datetime,
    event: WebhookEvent,
    data: Mapping[str, Any],
    *,
    project_id: int,
    prompt_id: int | None = None,
) -> None:
    """Write a delivery of an event, in the transaction of the event, for each enabled webhook that wants it.

    The prompt's id and name are added to the data of an event of a prompt.
    """
    known = webhooks.list_webhooks(connection, project_id=project_id)
    webhook_ids = [webhook.id for webhook in known if webhook.enabled and event in webhook.events]
    if webhook_ids:
        complete = {**_about(connection, prompt_id), **data}
        add_deliveries(
            connection, now, event, complete, project_id=project_id, prompt_id=prompt_id, webhook_ids=webhook_ids
        )


def _about(connection: Connection, prompt_id: int | None) -> dict[str, Any]:
    if prompt_id is None:
        return {}
    name = connection.scalar(select(prompts.prompts.c.name).where(prompts.prompts.c.id == prompt_id))
    return {"promptId": prompt_id, "promptName": name}


def add_deliveries(
    connection: Connection,
    now: datetime,
    event: str,
    data: Mapping[str, Any],
    *,
    project_id: int,
    webhook_ids: list[int],
    prompt_id: int | None = None,
) -> int:
    """Write a delivery of one event for each of the webhooks; returns the id of the last one."""
    row = {
        "project_id": project_id,
        "prompt_id": prompt_id,
        "event_id": f"msg_{secrets.token_hex(16)}",
        "event": event,
        "data": data,
        "status": "waiting",
        "attempts": 0,
        "due_at": now,
        "created_at": now,
    }
    ids = [queries.insert_row(connection, webhook_deliveries, **row, webhook_id=id_) for id_ in webhook_ids]
    return ids[-1]


@dataclass(frozen=True, slots=True)
class DueWebhook:
    """A webhook with due deliveries that no worker has."""

    webhook_id: int
    project_id: int


def due_webhooks(connection: Connection, *, now: datetime, limit: int) -> list[DueWebhook]:
    """List due webhooks, alternating between organizations; the webhooks that were served longest ago come first."""
    due = select(_C.id).where(_C.webhook_id == _W.id, _C.status == "waiting", _C.due_at <= now).limit(1)
    free = or_(_W.busy_until.is_(None), _W.busy_until <= now)
    statement = select(_W.id, _W.project_id).where(_W.enabled, free, due.scalar_subquery().is_not(None))
    in_turn = organizations.in_turn(statement, _W.project_id, _W.busy_until, _W.id)
    return queries.list_rows(connection, DueWebhook, in_turn.limit(limit))


def next_due(connection: Connection, *, webhook_id: int, now: datetime) -> DeliveryRow | None:
    """Return the webhook's delivery that has waited longest for its attempt; None if none waits for it."""
    due = _SELECT.where(_C.webhook_id == webhook_id, _C.status == "waiting", _C.due_at <= now)
    return queries.find_row(connection, DeliveryRow, due.order_by(_C.due_at, _C.id).limit(1))


def claim(connection: Connection, delivery: DeliveryRow, *, until: datetime) -> bool:
    """Begin the next attempt; returns False if another worker was quicker. An attempt that does not end is repeated."""
    return change_attempt(connection, delivery, {"attempts": delivery.attempts + 1, "due_at": until})


def change_attempt(connection: Connection, delivery: DeliveryRow, values: Mapping[str, Any]) -> bool:
    """Set columns of a waiting delivery; False if another attempt has begun, or it has ended or was removed."""
    unmoved = update(webhook_deliveries).where(
        _C.id == delivery.id, _C.status == "waiting", _C.attempts == delivery.attempts
    )
    return queries.changes_row(connection, unmoved.values(**values))


def deliver_again(connection: Connection, delivery: DeliveryRow, *, now: datetime) -> None:
    """Reset the delivery, so that it waits for its first attempt again."""
    key = {"id": delivery.id, "project_id": delivery.project_id}
    fresh = {"status": "waiting", "attempts": 0, "due_at": now, "finished_at": None}
    queries.update_rows(connection, webhook_deliveries, key, **fresh)


def find_delivery(connection: Connection, *, project_id: int, webhook_id: int, delivery_id: int) -> DeliveryRow | None:
    statement = _SELECT.where(_C.id == delivery_id, _C.webhook_id == webhook_id, _C.project_id == project_id)
    return queries.find_row(connection, DeliveryRow, statement)


def list_deliveries(
    connection: Connection, *, project_id: int, webhook_id: int, before_id: int | None, limit: int
) -> list[DeliveryRow]:
    """List a webhook's deliveries, newest first."""
    of_webhook = _SELECT.where(_C.webhook_id == webhook_id, _C.project_id == project_id)
    return queries.list_rows(
        connection, DeliveryRow, queries.newest_first(of_webhook, _C.id, before_id=before_id, limit=limit)
    )


def remove_expired(connection: Connection, *, project_id: int, before: datetime, limit: int) -> int:
    """Remove at most `limit` deliveries of events before then, ended or not, of a project; returns their number."""
    expired = select(_C.id).where(_C.project_id == project_id, _C.created_at < before)
    ids = list(connection.scalars(expired.limit(limit)))
    return connection.execute(delete(webhook_deliveries).where(_C.id.in_(sorted(ids)))).rowcount
