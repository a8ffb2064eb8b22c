"""What services are made of, and tests replace by fakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from app.db import Database
from app.metrics import Metrics, MetricStore, registry
from app.redis_store.batches import Mailbox
from app.redis_store.clients import RedisClients
from app.redis_store.rate import RateLimiter
from app.timestamps import Now
from config.settings import Settings

if TYPE_CHECKING:
    from app.providers.catalogue import Catalogue
    from app.providers.router import Providers
    from app.redis_store.broker import WakingBroker

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What services are made of; tests put fakes among them."""

    settings: Settings
    now: Now
    database: Database
    redis: RedisClients
    broker: WakingBroker
    mailbox: Mailbox
    metrics: Metrics
    metric_store: MetricStore
    catalogue: Catalogue
    providers: Providers

    def limiter(self, per_minute: int) -> RateLimiter:
        """Counts in Redis; lets through, with a metric, what can't be counted."""

        def not_counted() -> None:
            log.warning("rate_limit_not_counted")
            self.metrics.count(registry.RATE_LIMIT_NOT_COUNTED)

        return RateLimiter(self.redis.quick, per_minute=per_minute, on_unavailable=not_counted)

    def strict_limiter(self, per_minute: int) -> RateLimiter:
        """Counts in Redis or, while that can't, in this process."""

        def counted_locally() -> None:
            log.warning("rate_limit_counted_in_this_process_alone")

        return RateLimiter(self.redis.quick, per_minute=per_minute, on_unavailable=counted_locally, count_locally=True)
