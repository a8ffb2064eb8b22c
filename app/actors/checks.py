"""The actor of online checks, and the delivery that sends its messages."""

from __future__ import annotations

from dataclasses import dataclass

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from app.redis_store.broker import MAX_AGE_MS, WakingBroker
from app.redis_store.middleware import for_organization
from app.services.scores.checking import OnlineCheckRunner

CheckActor = dramatiq.Actor[[int], None]

TIME_LIMIT_MS = 15 * 60_000
"""Less than the time for which a worker holds a check."""


def declare(broker: RedisBroker, runner: OnlineCheckRunner) -> CheckActor:
    """Declare the actor. Dramatiq never retries it: the clock sends it again while turns wait for the check."""

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=0, time_limit=TIME_LIMIT_MS, max_age=MAX_AGE_MS)
    def check_turns(check_id: int) -> None:
        runner.run(check_id)

    return check_turns


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDelivery:
    """Sends the messages of online checks."""

    broker: WakingBroker
    actor: CheckActor
    runner: OnlineCheckRunner

    def sweep(self) -> None:
        """Send a message for each online check that has turns to read; the clock calls it."""
        for check_id, organization_id in self.runner.due().items():
            self.broker.enqueue(for_organization(self.actor.message(check_id), organization_id))
