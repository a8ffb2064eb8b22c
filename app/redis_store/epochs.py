"""A project's epoch: a random mark in Redis, which a change of any of its prompts replaces.

Whoever saw an epoch before asking the database may take the answer for current while the epoch stays, so that processes
can keep what they read, and yet see at once what another one has acknowledged. The rate limit brings the epoch along
with its own round trip.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import redis
import structlog

from app.redis_store import keys

log = structlog.get_logger(__name__)

EPOCH_S = 86_400
# What was read is used no longer than this, however long its epoch lasts.
REMEMBERED_S = 1.0


def new_epoch() -> bytes:
    """Never seen before, also by who remembers what a Redis said that has lost everything since."""
    return secrets.token_bytes(8)


class Epochs:
    def __init__(self, client: redis.Redis, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._sleep = sleep

    def end(self, project_id: int) -> None:
        """Tell all processes that prompts of the project have changed; to be called after the commit.

        Redis may be away for this process alone: then it waits until the others have forgotten what they read before.
        """
        try:
            self._client.set(keys.epoch(project_id), new_epoch(), ex=EPOCH_S)
        except redis.RedisError:
            log.warning("epoch_not_ended", project_id=project_id)
            self._sleep(REMEMBERED_S)
