"""The container: the services, backends and deliveries of one process."""

from __future__ import annotations

from dataclasses import dataclass

from app.actors import Actors
from app.actors.delivery import BatchDelivery
from app.actors.replay_delivery import ReplayDelivery
from app.actors.run_delivery import RunDelivery
from app.db import Database
from app.metrics import Metrics
from app.providers.router import Providers
from app.redis_store.batches import Mailbox
from app.redis_store.broker import WakingBroker
from app.redis_store.clients import RedisClients
from app.redis_store.rate import RateLimiter
from app.services.runs.following import Follower
from app.services.wiring import Services
from app.timestamps import Now
from config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Built once in a process, by `app.process.bootstrap`."""

    settings: Settings
    now: Now
    database: Database
    redis: RedisClients
    broker: WakingBroker
    limiter: RateLimiter
    page_limiter: RateLimiter
    mailbox: Mailbox
    metrics: Metrics
    providers: Providers
    services: Services
    actors: Actors
    batch_delivery: BatchDelivery
    run_delivery: RunDelivery
    run_follower: Follower
    replay_delivery: ReplayDelivery

    def close(self) -> None:
        """End the threads and connections of this process; its workers must have ended."""
        self.services.runs.ending.completions.close()
        self.providers.close()
        self.database.engine.dispose()
