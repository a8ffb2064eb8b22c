"""Plays one replay: queue `replays`."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from app.redis_store.broker import MAX_AGE_MS
from app.services.wiring import Services

ReplayActor = dramatiq.Actor[[int], None]


def declare(broker: RedisBroker, services: Services) -> ReplayActor:
    """Declare the actor: Dramatiq retries it while the database is away, and in another process when this one stops."""

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
