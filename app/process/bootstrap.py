"""Starts a process: loads its settings, sets up logs and memory, builds its container, freezes garbage collection."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path

import structlog

from app import __version__
from app.actors import registry as actor_registry
from app.actors.audits import AuditDelivery
from app.actors.checks import CheckDelivery
from app.actors.effects import EffectsDelivery
from app.actors.experiments import ExperimentDelivery
from app.actors.mutants import MutantsDelivery
from app.actors.registry import Actors
from app.actors.replays import ReplayDelivery
from app.actors.runs import RunDelivery
from app.actors.spans import BatchDelivery, BatchesHere, BatchWorkers, QueuedBatches
from app.actors.webhooks import WebhookDelivery
from app.concurrency.quotas import FairSemaphore, Quota
from app.database.transactions import Database, build_database
from app.metrics import Metrics, provider_call, registry
from app.models.compression import store_texts
from app.process import home
from app.providers import catalogue
from app.providers.router import Providers
from app.providers.vendor_models import VendorModels
from app.redis_store.batches import LocalBodies, Mailbox
from app.redis_store.broker import build_broker
from app.redis_store.clients import RedisClients, connect
from app.redis_store.metric_store import MetricStore
from app.redis_store.middleware import QueueMetrics
from app.redis_store.rate import RateLimiter
from app.redis_store.slots import ModelSlots
from app.services.ingest.storer import Storer
from app.services.runs.following import AnswerFollower
from app.timestamps import Now, utc_now
from app.wiring import services as wiring
from app.wiring.backends import Backends
from app.wiring.container import Container
from app.wiring.services import Services
from config import logging
from config.environment import misspelt
from config.settings import Settings, declared

LISTENING = frozenset({"serve", "web"})
"""The processes that answer HTTP, or start one that does."""
OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""The threshold that `freeze_gc` sets. Python's default, 700 objects, costs a busy worker a seventh of its time."""
_ARENA_MAX = -8  # M_ARENA_MAX of glibc's <malloc.h>


def start(process: str) -> Settings:
    """Return the settings of this process; an invalid setting ends the process with a message.

    The process logs its name, version and address, and the settings that differ from their defaults, without secrets.
    It warns of variables that are nearly a setting. All settings would make an unreadable line, so they are logged at
    the level debug.
    """
    settings = Settings.load_or_exit()
    prepare(settings)
    log = structlog.get_logger(__name__)
    log.info(
        "starting",
        process=process,
        version=__version__,
        mode="embedded" if settings.embedded else "services",
        **({"address": f"{settings.host}:{settings.port}"} if process in LISTENING else {}),
        home=str(settings.home),
        settings=settings.changed(),
    )
    for name, meant in misspelt(os.environ, [declared_field.metadata["env"] for declared_field in declared()]).items():
        log.warning("unknown_setting", name=name, meant=meant)
    log.debug("settings", **settings.shown())
    return settings


def prepare(settings: Settings) -> None:
    """Configure the logs of this process, and let its threads share one heap. Call it before threads are started.

    glibc gives threads up to eight heaps per processor, and each heap keeps freed memory: tens of megabytes in a
    process that accepts batches. With Python's global lock one heap is enough. Other C libraries have no such heaps.
    """
    logging.configure(settings)
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def freeze_gc() -> None:
    """Exempt all present objects from garbage collection, and collect less often; call it when a process is built.

    Programs disable the collection before their imports, because to look for garbage among imported objects is a tenth
    of a process's start. Here it is enabled again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    gc.enable()


def bootstrap(
    settings: Settings,
    *,
    now: Now = utc_now,
    database: Database | None = None,
    redis: RedisClients | None = None,
    providers: Providers | None = None,
    metrics: Metrics | None = None,
    storer: Storer | None = None,
) -> Container:
    """Build the container; tests pass fakes of the clock or a backend.

    It connects lazily, so that a process can start, and answer 503, while a backend is away.
    """
    backends = _backends(settings, now, database, redis, providers, metrics, storer)
    if storer:
        backends.metrics.gauge(
            registry.STORING_PROCESSES, lambda: {(state,): count for state, count in storer.states().items()}
        )
    services = wiring.build(backends)
    declared = actor_registry.declare(
        backends.broker,
        audit_runner=services.judge_audit_runner,
        check_runner=services.online_check_runner,
        effect_proposer=services.effect_proposer,
        mutant_proposer=services.mutant_proposer,
        replay_player=services.replay_player,
        calibrations=services.calibrations,
        experiment_advancer=services.experiment_advancer,
        owners=services.owners,
        run_service=services.runs,
        ingest=services.ingest,
        webhook_deliverer=services.webhook_deliverer,
    )
    return _container(backends, services, declared)


def _container(backends: Backends, services: Services, declared: Actors) -> Container:
    settings, broker, owners = backends.settings, backends.broker, services.owners
    limiter = partial(RateLimiter, backends.redis, metrics=backends.metrics)
    replays = ReplayDelivery(broker=broker, owners=owners, actor=declared.replay, sweeper=services.replay_sweeper)
    audits = AuditDelivery(
        broker=broker, owners=owners, actor=declared.audit_judge, sweeper=services.judge_audit_sweeper
    )
    mutants = MutantsDelivery(
        broker=broker, owners=owners, actor=declared.propose_mutants, sweeper=services.mutant_sweeper
    )
    return Container(
        **{field.name: getattr(backends, field.name) for field in fields(backends)},
        limiter=limiter(settings.rate_limit, of_ingest=settings.ingest_rate_limit),
        page_limiter=limiter(settings.page_rate_limit),
        services=services,
        actors=declared,
        audit_delivery=audits,
        batch_delivery=_batch_delivery(backends, services, declared),
        check_delivery=CheckDelivery(broker=broker, actor=declared.check_turns, runner=services.online_check_runner),
        effects_delivery=EffectsDelivery(broker=broker, owners=owners, actor=declared.propose_effects),
        run_delivery=RunDelivery(
            broker=broker, owners=owners, actor=declared.run_prompt, runs=services.runs, wait_s=settings.run_wait_s
        ),
        replay_delivery=replays,
        experiment_delivery=ExperimentDelivery(
            replays=replays, audits=audits, mutants=mutants, advancer=services.experiment_advancer
        ),
        webhook_delivery=WebhookDelivery(
            broker=broker, owners=owners, actor=declared.deliver_webhook, deliverer=services.webhook_deliverer
        ),
        run_follower=_run_follower(backends, services),
    )


def _run_follower(backends: Backends, services: Services) -> AnswerFollower:
    return AnswerFollower(
        client=backends.redis.waiting,
        masking=services.runs.masking,
        read_run=lambda project_id, run_id: services.runs.get(project_id=project_id, run_id=run_id),
        wait_s=backends.settings.run_wait_s,
    )


def _batch_delivery(backends: Backends, services: Services, declared: Actors) -> BatchDelivery:
    return BatchDelivery(
        workers=_batch_workers(backends, declared),
        owners=services.owners,
        actor=declared.store_spans,
        mailbox=backends.mailbox,
        rules=services.masking,
        wait_s=backends.settings.ingest_wait_s,
    )


def _batch_workers(backends: Backends, declared: Actors) -> BatchWorkers:
    settings = backends.settings
    if not settings.embedded:
        return QueuedBatches(backends.broker)
    semaphore = FairSemaphore(
        Quota.of(settings.span_threads, settings.organization_share),
        on_refused=lambda: backends.metrics.count(registry.SHARE_REFUSED, "batch_turns"),
    )
    return BatchesHere(declared.store_spans, semaphore)


def _backends(
    settings: Settings,
    now: Now,
    database: Database | None,
    redis: RedisClients | None,
    providers: Providers | None,
    metrics: Metrics | None,
    storer: Storer | None,
) -> Backends:
    redis = redis or connect(settings.redis_url, waiters=settings.web_threads, longest_wait_s=settings.ingest_wait_s)
    metric_store = MetricStore(redis.commands)
    metrics = metrics or Metrics(metric_store)
    own_catalogue = Path(settings.catalogue_file) if settings.catalogue_file else None
    known_models = catalogue.load(own_catalogue)
    return Backends(
        settings=settings,
        now=now,
        database=database or _database(settings, metrics),
        redis=redis,
        broker=build_broker(
            redis.commands,
            redis.waiting,
            QueueMetrics(metrics),
            organization_share=settings.organization_share,
            on_deferred=lambda queue: metrics.count(registry.SHARE_DEFERRED, queue),
        ),
        mailbox=_mailbox(settings, redis, metrics),
        metrics=metrics,
        metric_store=metric_store,
        catalogue=known_models,
        price_list=catalogue.load_prices(own_catalogue),
        providers=providers or _providers(settings, known_models, redis, metrics),
        storer=storer,
    )


def _mailbox(settings: Settings, redis: RedisClients, metrics: Metrics) -> Mailbox:
    return Mailbox(
        redis.commands,
        batches=Quota.of(settings.ingest_backlog, settings.organization_share),
        size=Quota.within(settings.ingest_backlog_bytes, settings.organization_share),
        bodies=LocalBodies() if settings.embedded else None,
        on_refused=lambda: metrics.count(registry.SHARE_REFUSED, "backlog"),
    )


def _database(settings: Settings, metrics: Metrics) -> Database:
    database = build_database(
        database_url(settings),
        pool_size=settings.database_pool,
        on_lock_retry=lambda: metrics.count(registry.LOCK_RETRIES),
        on_pool_timeout=lambda: metrics.count(registry.POOL_TIMEOUTS),
    )
    store_texts(database, compressed=settings.compression == "on")
    metrics.gauge(
        registry.DATABASE_CONNECTIONS, lambda: {(state,): count for state, count in database.connections().items()}
    )
    return database


def _providers(
    settings: Settings, known_models: catalogue.Catalogue, redis: RedisClients, metrics: Metrics
) -> Providers:
    limits = settings.model_concurrency, settings.organization_share
    slots = ModelSlots(redis.commands, quota=Quota.of(*limits), background=Quota.for_background(*limits))
    return Providers(
        catalogue=known_models,
        slot=lambda request: slots.of(
            request.model.label,
            request.organization_id,
            request.timeout_s,
            is_own=bool(request.model.base_url),
            background=request.background,
            pause=request.stop.pause,
        ),
        slots_held=slots.held_until_end,
        observed=lambda model: provider_call(metrics, model.vendor),
        remote=VendorModels(answer_bytes=settings.model_answer_bytes),
    )


def database_url(settings: Settings) -> str:
    """Return `DATABASE_URL`, or the URL of the SQLite file in the home folder."""
    return settings.database_url or f"sqlite:///{settings.home / home.DATABASE}"
