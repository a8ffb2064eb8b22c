"""Executes one run: queue `runs`."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from app.redis_store.broker import MAX_AGE_MS
from app.services.wiring import Services

RunActor = dramatiq.Actor[[int], None]

# For the claim, the files and the storing of an answer, on top of the model call.
AROUND_THE_CALL_S = 120


def declare(broker: RedisBroker, services: Services) -> RunActor:
    """Declare the actor: Dramatiq retries it while the database is away; the row allows one model call."""

    @dramatiq.actor(
        broker=broker,
        queue_name="runs",
        max_retries=10,
        min_backoff=500,
        max_backoff=15_000,
        time_limit=(services.runs.executor.caller.timeout_s + AROUND_THE_CALL_S) * 1000,
        max_age=MAX_AGE_MS,
    )
    def run_prompt(run_id: int) -> None:
        services.runs.execute(run_id)

    return run_prompt
