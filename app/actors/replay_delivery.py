"""Hands replays to their actor. Nobody waits here: the row tells how far a replay is."""

from __future__ import annotations

from collections.abc import Iterable

import redis
import structlog

from app.actors.replay import ReplayActor
from app.services.replay_sweeper import ReplaySweeper

log = structlog.get_logger(__name__)


class ReplayDelivery:
    def __init__(self, *, actor: ReplayActor, sweeper: ReplaySweeper) -> None:
        self._actor = actor
        self._sweeper = sweeper

    def send(self, replay_ids: Iterable[int]) -> None:
        """Send their messages. While Redis is away the rows wait, and the clock sends for them later."""
        for replay_id in replay_ids:
            try:
                self._actor.send(replay_id)
            except redis.RedisError as error:
                log.warning("replay_not_sent", replay_id=replay_id, error=str(error))
                return

    def sweep(self) -> None:
        """For the clock: see after replays that were left behind."""
        self.send(self._sweeper.sweep())
