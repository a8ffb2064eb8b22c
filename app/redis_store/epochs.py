"""A project's epoch: a random value in Redis, which a change of any of its prompts replaces.

A process that read the epoch before the database may use what it read for as long as the epoch stays. So processes
cache prompts, and still see a change as soon as another process has acknowledged it. The rate limiter reads the epoch
in the same round trip as its counts, and a process may use it for `LEASE_S` without asking again. A change is
acknowledged after that time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis
import structlog

from app.redis_store import keys
from app.redis_store.local_counts import LocalCounts

log = structlog.get_logger(__name__)

EPOCH_S = 86_400
LEASE_S = 0.025
# A process uses what it has read for this long at most, even while the epoch stays.
REMEMBERED_S = 1.0


def new_epoch() -> bytes:
    """Make an epoch that no process has seen, even if Redis has lost all earlier ones."""
    return secrets.token_bytes(8)


@dataclass(frozen=True, slots=True)
class Epochs:
    """Epochs in Redis, or in `own` where there is only one process."""

    client: redis.Redis
    local: LocalCounts | None = None
    sleep: Callable[[float], None] = time.sleep

    def end(self, project_id: int) -> None:
        """Replace the project's epoch, and wait until no process uses the one before.

        Call it after the commit of a change of its prompts. When this process can't reach Redis, it waits until the
        other processes have dropped what they read before.
        """
        if self.local:
            self.local.put_epoch(project_id, new_epoch())
            return
        try:
            self.client.set(keys.epoch(project_id), new_epoch(), ex=EPOCH_S)
            self.sleep(LEASE_S)
        except redis.RedisError:
            log.warning("epoch_not_ended", project_id=project_id)
            self.sleep(REMEMBERED_S)
