"""Delivers events to webhooks: one worker at a time has a webhook, and makes its deliveries one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import structlog

from app.database.transactions import Database, retried
from app.errors import ServiceError
from app.metrics import Metrics
from app.metrics.registry import WEBHOOK_DELIVERIES
from app.models import organizations, webhook_deliveries, webhooks
from app.models.webhook_deliveries import ANSWER_MAX, ERROR_MAX, DeliveryRow, DueWebhook
from app.models.webhooks import Webhook
from app.services.webhooks.service import WebhookService
from app.timestamps import Now
from app.webhooks.message import WebhookMessage, body_of, headers_of
from app.webhooks.sender import DeliveryAttempt, WebhookSender
from app.work.remover import Remover
from app.work.round_robin import RoundRobin

log = structlog.get_logger(__name__)

# Pauses in seconds before the retries of a delivery, a day and a half in total.
PAUSES_S = (5, 30, 300, 1800, 7200, 18_000, 36_000, 64_800)
JITTER = 0.2
STATUS_GONE = 410
"""A receiver answers with this status to stop further attempts."""
# A worker starts attempts for one webhook for this time; the last attempt may end later, up to its timeout.
BUDGET_S = 30.0
# Longer than any worker works for one webhook: only the reservation of a dead worker expires.
RESERVED_FOR = timedelta(minutes=3)
# All deliveries to a receiver pause for this time after it failed.
REST_AFTER_FAILURE = timedelta(seconds=5)
KEPT_FOR = timedelta(days=30)
WEBHOOKS_PER_SWEEP = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeliverer:
    """Makes deliveries; `base_url` is the public address of Reprise, "" if unknown."""

    database: Database
    now: Now
    metrics: Metrics
    sender: WebhookSender
    service: WebhookService
    remover: Remover
    base_url: str
    monotonic: Callable[[], float] = time.monotonic
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def due(self) -> list[DueWebhook]:
        """Return webhooks with due deliveries, each reserved for the message that the caller must send."""
        now = self.now()
        with self.database.read() as connection:
            due = webhook_deliveries.due_webhooks(connection, now=now, limit=WEBHOOKS_PER_SWEEP)
        reserved = []
        for webhook in due:
            reserve = partial(webhooks.reserve, webhook_id=webhook.webhook_id, now=now, until=now + RESERVED_FOR)
            if self.database.retrying(reserve):
                reserved.append(webhook)
        return reserved

    def deliver(self, *, project_id: int, webhook_id: int) -> None:
        """Make the webhook's due deliveries until one fails, none is left or the time is used up."""
        until, rest = self.monotonic() + BUDGET_S, timedelta()
        while self.monotonic() < until and not rest:
            claimed = self._claim_next(project_id, webhook_id)
            if claimed is None:
                break
            if not self._attempt(*claimed):
                rest = REST_AFTER_FAILURE
        self.database.retrying(partial(webhooks.free_at, webhook_id=webhook_id, when=self.now() + rest))

    def remove_expired(self) -> int:
        """Remove deliveries after `KEPT_FOR`, until none are left or the time is used up; returns their number."""
        before = self.now() - KEPT_FOR
        with self.database.read() as connection:
            owners = organizations.owners(connection)
        return self.remover.exhaust_in_turn(
            self._round_robin,
            owners,
            lambda project_id: [partial(webhook_deliveries.remove_expired, project_id=project_id, before=before)],
        )

    @retried
    def _claim_next(self, project_id: int, webhook_id: int) -> tuple[Webhook, DeliveryRow] | None:
        now = self.now()
        with self.database.write() as connection:
            webhook = webhooks.find_webhook(connection, project_id=project_id, webhook_id=webhook_id)
            delivery = webhook_deliveries.next_due(connection, webhook_id=webhook_id, now=now)
            if webhook is None or not webhook.enabled or delivery is None:
                return None
            if not webhook_deliveries.claim(connection, delivery, until=now + RESERVED_FOR):
                return None
            key = {"project_id": project_id, "webhook_id": webhook_id, "delivery_id": delivery.id}
            claimed = webhook_deliveries.find_delivery(connection, **key)
        return None if claimed is None else (webhook, claimed)

    def _attempt(self, webhook: Webhook, delivery: DeliveryRow) -> bool:
        """Make the claimed attempt and store its outcome; returns whether the receiver accepted the event."""
        attempt = self._send(webhook, delivery)
        values: dict[str, Any] = {
            "status_code": attempt.status_code,
            "error": attempt.error and attempt.error[:ERROR_MAX],
            "answer": attempt.answer[:ANSWER_MAX],
            "latency_ms": attempt.latency_ms,
        }
        now, pause_s = self.now(), _pause_s(delivery, attempt)
        if attempt.succeeded or pause_s is None:
            values |= {"status": "delivered" if attempt.succeeded else "failed", "finished_at": now}
        else:
            values["due_at"] = now + timedelta(seconds=pause_s)
        # If the outcome were lost to a conflict, the event would be sent again.
        self.database.retrying(partial(webhook_deliveries.change_attempt, delivery=delivery, values=values))
        outcome = str(values.get("status", "retried"))
        self.metrics.count(WEBHOOK_DELIVERIES, outcome)
        log.info("webhook", delivery_id=delivery.id, outcome=outcome, status=attempt.status_code, error=attempt.error)
        return attempt.succeeded

    def _send(self, webhook: Webhook, delivery: DeliveryRow) -> DeliveryAttempt:
        message = WebhookMessage(delivery.event_id, delivery.event, delivery.created_at, delivery.data)
        try:
            body = body_of(message, webhook.format, base_url=self.base_url)
            signing = self.service.signing(project_id=webhook.project_id, webhook_id=webhook.id)
            return self.sender.post(webhook.url, headers_of(message.id, body, signing, self.now()), body)
        except ServiceError as error:
            return DeliveryAttempt(None, "", str(error), 0)


def _pause_s(delivery: DeliveryRow, attempt: DeliveryAttempt) -> float | None:
    """Return the seconds until the next attempt; None if there will be none."""
    if delivery.attempts > len(PAUSES_S) or attempt.status_code == STATUS_GONE:
        return None
    return PAUSES_S[delivery.attempts - 1] * random.uniform(1, 1 + JITTER)  # noqa: S311 - jitter, no secret
