"""Hands replays to their actor. Nobody waits here: the row tells how far a replay is."""

from __future__ import annotations

from collections.abc import Iterable

import redis
import structlog

from app.actors.replay import ReplayActor
from app.errors import Unavailable
from app.redis_store.broker import WakingBroker
from app.redis_store.ownership import owned
from app.services.accounts.owners import Owners
from app.services.replays.sweeper import ReplaySweeper

log = structlog.get_logger(__name__)


class ReplayDelivery:
    def __init__(self, *, broker: WakingBroker, actor: ReplayActor, owners: Owners, sweeper: ReplaySweeper) -> None:
        self._broker = broker
        self._actor = actor
        self._owners = owners
        self._sweeper = sweeper

    def send(self, replay_ids: Iterable[int]) -> None:
        """Send their messages. While Redis or the database is away they wait, and the clock sends for them later."""
        ids = list(replay_ids)
        try:
            for replay_id, organization_id in self._owners.of_replays(ids).items():
                self._broker.enqueue(owned(self._actor.message(replay_id), organization_id))
        except (redis.RedisError, Unavailable) as error:
            log.warning("replays_not_sent", replay_ids=ids, error=str(error))

    def sweep(self) -> None:
        """For the clock: see after replays that were left behind."""
        self.send(self._sweeper.sweep())
