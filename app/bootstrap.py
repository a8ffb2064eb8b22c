"""Builds everything a process needs from its settings, once; tests pass fakes for what they want to hold still."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import structlog

from app import actors
from app.actors import Actors
from app.broker import WakingBroker, build_broker
from app.db import Database, build_engine
from app.limits.mailbox import Mailbox
from app.limits.rate import RateLimiter
from app.providers import catalogue
from app.redis_clients import RedisClients, connect
from app.services.ingest import IngestService
from app.services.keys import KeyService
from app.services.logs import LogService
from app.services.models import ModelService
from app.services.prompt_editor import PromptEditor
from app.services.prompt_reader import PromptReader
from app.services.prompts import PromptService
from app.services.sessions import SessionService
from app.services.versions import VersionService
from app.timestamps import Now, utc_now
from config.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases; each opens its own transactions."""

    keys: KeyService
    models: ModelService
    prompts: PromptService
    prompt_editor: PromptEditor
    versions: VersionService
    ingest: IngestService
    sessions: SessionService
    logs: LogService


@dataclass(frozen=True, slots=True)
class Container:
    """What the composition roots hand to resources, actors, pages and commands."""

    settings: Settings
    now: Now
    database: Database
    redis: RedisClients
    broker: WakingBroker
    limiter: RateLimiter
    mailbox: Mailbox
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
    mailbox = Mailbox(redis.commands, backlog=settings.ingest_backlog)
    models = ModelService(
        database=database,
        now=now,
        catalogue=catalogue.load(Path(settings.catalogue_file) if settings.catalogue_file else None),
    )
    reader = PromptReader(models=models)
    services = Services(
        keys=KeyService(database=database, now=now),
        models=models,
        prompts=PromptService(database=database, reader=reader),
        prompt_editor=PromptEditor(database=database, now=now, models=models, reader=reader),
        versions=VersionService(database=database, now=now, reader=reader),
        ingest=IngestService(
            database=database,
            mailbox=mailbox,
            now=now,
            batch_bytes=settings.trace_bytes,
            span_bytes=settings.span_bytes,
        ),
        sessions=SessionService(database=database),
        logs=LogService(database=database),
    )
    return Container(
        settings=settings,
        now=now,
        database=database,
        redis=redis,
        broker=broker,
        limiter=limiter,
        mailbox=mailbox,
        services=services,
        actors=actors.declare(broker, services),
    )


def database_url(settings: Settings) -> str:
    """`DATABASE_URL`, or the SQLite file in the home folder."""
    return settings.database_url or f"sqlite:///{settings.home / 'reprise.db'}"
