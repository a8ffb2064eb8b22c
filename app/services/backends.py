"""The backends of one process, from which its services are built."""

from __future__ import annotations

from dataclasses import dataclass

from app.db import Database
from app.metrics import Metrics
from app.providers.catalogue import Catalogue
from app.providers.router import Providers
from app.redis_store.batches import Mailbox
from app.redis_store.broker import WakingBroker
from app.redis_store.clients import RedisClients
from app.redis_store.metric_store import MetricStore
from app.timestamps import Now
from config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Backends:
    """The dependencies of the services; tests put fakes among them."""

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
