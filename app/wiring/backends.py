"""The backends of the services: databases, Redis, vendors and the clock."""

from __future__ import annotations

from dataclasses import dataclass

from app.database.transactions import Database
from app.metrics import Metrics
from app.prices.book import PriceList
from app.providers.catalogue import Catalogue
from app.providers.router import Providers
from app.redis_store.batches import Mailbox
from app.redis_store.broker import WakingBroker
from app.redis_store.clients import RedisClients
from app.redis_store.metric_store import MetricStore
from app.services.ingest.storer import Storer
from app.timestamps import Now
from config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Backends:
    """The dependencies of the services; tests replace some of them by fakes.

    `storer` stores batches of spans in other processes, if there are any.
    """

    settings: Settings
    now: Now
    database: Database
    redis: RedisClients
    broker: WakingBroker
    mailbox: Mailbox
    metrics: Metrics
    metric_store: MetricStore
    catalogue: Catalogue
    price_list: PriceList
    providers: Providers
    storer: Storer | None = None
