"""The actor of webhooks, and the delivery that sends its messages."""

from __future__ import annotations

from dataclasses import dataclass

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from app.redis_store.broker import MAX_AGE_MS, WakingBroker
from app.redis_store.middleware import for_organization
from app.services.accounts.owners import Owners
from app.services.webhooks.deliveries import WebhookDeliverer

WebhookActor = dramatiq.Actor[[int, int], None]


def declare(broker: RedisBroker, deliverer: WebhookDeliverer) -> WebhookActor:
    """Declare the actor. Dramatiq never retries it: rows record what is due, and the clock sends the message again."""

    @dramatiq.actor(broker=broker, queue_name="webhooks", max_retries=0, time_limit=120_000, max_age=MAX_AGE_MS)
    def deliver_webhook(project_id: int, webhook_id: int) -> None:
        deliverer.deliver(project_id=project_id, webhook_id=webhook_id)

    return deliver_webhook


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """Sends the messages of webhooks."""

    broker: WakingBroker
    actor: WebhookActor
    owners: Owners
    deliverer: WebhookDeliverer

    def sweep(self) -> None:
        """Send a message for each webhook that has deliveries due; the clock calls it."""
        for due in self.deliverer.due():
            message = self.actor.message(due.project_id, due.webhook_id)
            self.broker.enqueue(for_organization(message, self.owners.of_project(due.project_id)))
