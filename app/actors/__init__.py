"""Dramatiq actors: one a file, each a few lines that call a service.

They are declared on a broker that is handed in, so that a process (or a test) can have its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from dramatiq.brokers.redis import RedisBroker

from app.actors import replay, run_prompt, store_spans
from app.actors.replay import ReplayActor
from app.actors.run_prompt import RunActor
from app.actors.store_spans import BatchActor
from app.services.wiring import Services


@dataclass(frozen=True, slots=True)
class Actors:
    """All actors, for the deliveries that send their messages."""

    replay: ReplayActor
    run_prompt: RunActor
    store_spans: BatchActor


def declare(broker: RedisBroker, services: Services) -> Actors:
    return Actors(
        replay=replay.declare(broker, services),
        run_prompt=run_prompt.declare(broker, services),
        store_spans=store_spans.declare(broker, services),
    )
