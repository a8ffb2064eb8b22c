"""Stores one batch of spans: queue `spans`."""

from __future__ import annotations

from dataclasses import asdict

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from app.redis_store.broker import MAX_AGE_MS
from app.services.wiring import Services

BatchActor = dramatiq.Actor[[int, str, str, str, bool], dict[str, object]]


def declare(broker: RedisBroker, services: Services) -> BatchActor:
    """Never retried here: whoever sent the batch is told to, and a retry of ours would only race with theirs."""

    @dramatiq.actor(
        broker=broker, queue_name="spans", max_retries=0, time_limit=60_000, max_age=MAX_AGE_MS, store_results=True
    )
    def store_spans(project_id: int, key: str, ticket: str, encoding: str, sealed: bool) -> dict[str, object]:
        return asdict(services.ingest.store_claimed(project_id, key, ticket, encoding, sealed=sealed))

    return store_spans
