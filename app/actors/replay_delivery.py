"""Sends replays to their actor. No caller waits for one: the row has its progress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import redis
import structlog

from app.actors import ReplayActor
from app.errors import Unavailable
from app.redis_store.broker import WakingBroker
from app.redis_store.ownership import owned
from app.services.accounts.projects import Owners
from app.services.replays.claims import ReplaySweeper

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDelivery:
    broker: WakingBroker
    actor: ReplayActor
    owners: Owners
    sweeper: ReplaySweeper

    def send(self, replay_ids: Iterable[int]) -> None:
        """Send the replays' messages. While Redis or the database is away they wait for the clock's next sweep."""
        ids = list(replay_ids)
        try:
            for replay_id, organization_id in self.owners.of_replays(ids).items():
                self.broker.enqueue(owned(self.actor.message(replay_id), organization_id))
        except (redis.RedisError, Unavailable) as error:
            log.warning("replays_not_sent", replay_ids=ids, error=str(error))

    def sweep(self) -> None:
        """Send the replays again that were left behind; the clock calls it."""
        self.send(self.sweeper.sweep())
