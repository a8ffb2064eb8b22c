"""Builds everything a process needs from its settings, once; tests pass fakes for what they want to hold still."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from app import actors
from app.actors import Actors
from app.broker import WakingBroker, build_broker
from app.db import Database, build_engine
from app.limits.rate import RateLimiter
from app.redis_clients import RedisClients, connect
from app.services.keys import KeyService
from app.timestamps import Now, utc_now
from config.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases; each opens its own transactions."""

    keys: KeyService


@dataclass(frozen=True, slots=True)
class Container:
    """What the composition roots hand to resources, actors, pages and commands."""

    settings: Settings
    now: Now
    database: Database
    redis: RedisClients
    broker: WakingBroker
    limiter: RateLimiter
    services: Services
    actors: Actors


def bootstrap(
    settings: Settings, *, now: Now = utc_now, database: Database | None = None, redis: RedisClients | None = None
) -> Container:
    """Connects lazily: a process starts while the database or Redis is away, and answers 503 until they are back."""
    database = database or Database(build_engine(database_url(settings), pool_size=settings.database_pool))
    redis = redis or connect(settings.redis_url, waiters=settings.web_threads)
    broker = build_broker(redis.commands, redis.waiting)
    limiter = RateLimiter(
        redis.commands,
        per_minute=settings.rate_limit,
        on_unavailable=lambda: log.warning("rate_limit_not_counted"),
    )
    services = Services(
        keys=KeyService(database=database, now=now),
    )
    return Container(
        settings=settings,
        now=now,
        database=database,
        redis=redis,
        broker=broker,
        limiter=limiter,
        services=services,
        actors=actors.declare(broker, services),
    )


def database_url(settings: Settings) -> str:
    """`DATABASE_URL`, or the SQLite file in the home folder."""
    return settings.database_url or f"sqlite:///{settings.home / 'reprise.db'}"
