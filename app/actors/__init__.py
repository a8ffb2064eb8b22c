"""The Dramatiq actors, each of which calls one service.

They are declared on a broker that is passed in, so that each process, and each test, has its own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from app.redis_store.broker import MAX_AGE_MS
from app.services.wiring import Services

BatchActor = dramatiq.Actor[[int, str, str, str, bool], dict[str, object]]
ReplayActor = dramatiq.Actor[[int], None]
RunActor = dramatiq.Actor[[int], None]

# For the claim, the files and the storing of an answer, on top of the model call.
AROUND_THE_CALL_S = 120


@dataclass(frozen=True, slots=True)
class Actors:
    """All actors, for the deliveries that send their messages."""

    replay: ReplayActor
    run_prompt: RunActor
    store_spans: BatchActor


def declare(broker: RedisBroker, services: Services) -> Actors:
    return Actors(_replay(broker, services), _run_prompt(broker, services), _store_spans(broker, services))


def _replay(broker: RedisBroker, services: Services) -> ReplayActor:
    """Dramatiq retries it while the database is away, and in another process when this one stops."""

    @dramatiq.actor(
        broker=broker,
        queue_name="replays",
        max_retries=3,
        min_backoff=500,
        max_backoff=15_000,
        time_limit=3_600_000,
        max_age=MAX_AGE_MS,
    )
    def replay(replay_id: int) -> None:
        services.replay_player.play(replay_id)

    return replay


def _run_prompt(broker: RedisBroker, services: Services) -> RunActor:
    """Dramatiq retries it while the database is away; the row allows one model call."""

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


def _store_spans(broker: RedisBroker, services: Services) -> BatchActor:
    """It is never retried: the exporter gets 503 and sends the batch again, and a retry would race with that."""

    @dramatiq.actor(
        broker=broker, queue_name="spans", max_retries=0, time_limit=60_000, max_age=MAX_AGE_MS, store_results=True
    )
    def store_spans(project_id: int, key: str, ticket: str, encoding: str, sealed: bool) -> dict[str, object]:
        return asdict(services.ingest.store_claimed(project_id, key, ticket, encoding, sealed=sealed))

    return store_spans
