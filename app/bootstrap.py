"""Builds everything a process needs from its settings, once; tests pass fakes for what they want to hold still."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import structlog

from app import actors
from app.actors import Actors
from app.actors.replay_delivery import ReplayDelivery
from app.actors.run_delivery import RunDelivery
from app.broker import WakingBroker, build_broker
from app.db import Database, build_database
from app.limits.mailbox import Mailbox
from app.limits.model_slots import ModelSlots
from app.limits.rate import RateLimiter
from app.metrics import Metrics, MetricStore, provider_calls, registry
from app.providers import catalogue
from app.providers.router import Providers
from app.queue_metrics import QueueMetrics
from app.redis_clients import RedisClients, connect
from app.services.accounts import AccountService
from app.services.audit import AuditService
from app.services.credentials import CredentialService
from app.services.data_policies import DataPolicyService
from app.services.deletion import DeletionService
from app.services.demo_session import DemoSession
from app.services.doctor import Doctor
from app.services.export import ExportService
from app.services.ingest import IngestService
from app.services.keys import KeyService
from app.services.logs import LogService
from app.services.metrics import MetricsService
from app.services.models import ModelService
from app.services.overview import OverviewService
from app.services.own_models import OwnModelService
from app.services.passwords import Passwords
from app.services.projects import ProjectService
from app.services.prompt_editor import PromptEditor
from app.services.prompt_reader import PromptReader
from app.services.prompts import PromptService
from app.services.readiness import Readiness
from app.services.removal import Remover
from app.services.replay_history import ReplayHistory
from app.services.replay_player import ReplayPlayer
from app.services.replay_sweeper import ReplaySweeper
from app.services.replays import ReplayService
from app.services.retention import RetentionService
from app.services.runs import RunService
from app.services.runs.following import Follower
from app.services.runs.wiring import build_runs
from app.services.sessions import SessionService
from app.services.setup import SetupService
from app.services.sign_ins import SignInService
from app.services.test_cases import TestCaseService
from app.services.usage import UsageService
from app.services.versions import VersionService
from app.timestamps import Now, utc_now
from config.settings import Settings

log = structlog.get_logger(__name__)
# In any minute: hopeless for guessing, enough for people.
WRONG_PASSWORDS_PER_EMAIL = 20
WRONG_PASSWORDS_PER_ADDRESS = 200


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases; each opens its own transactions."""

    sign_ins: SignInService
    accounts: AccountService
    projects: ProjectService
    audit: AuditService
    overview: OverviewService
    keys: KeyService
    models: ModelService
    own_models: OwnModelService
    prompts: PromptService
    prompt_editor: PromptEditor
    versions: VersionService
    credentials: CredentialService
    runs: RunService
    usage: UsageService
    ingest: IngestService
    sessions: SessionService
    logs: LogService
    data_policies: DataPolicyService
    retention: RetentionService
    deletion: DeletionService
    export: ExportService
    metrics: MetricsService
    test_cases: TestCaseService
    replays: ReplayService
    replay_history: ReplayHistory
    replay_player: ReplayPlayer
    readiness: Readiness
    doctor: Doctor
    setup: SetupService


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
    metrics: Metrics
    services: Services
    actors: Actors
    run_delivery: RunDelivery
    run_follower: Follower
    replay_delivery: ReplayDelivery


def bootstrap(
    settings: Settings,
    *,
    now: Now = utc_now,
    database: Database | None = None,
    redis: RedisClients | None = None,
    providers: Providers | None = None,
) -> Container:
    """Connects lazily: a process starts while the database or Redis is away, and answers 503 until they are back."""
    redis = redis or connect(settings.redis_url, waiters=settings.web_threads, longest_wait_s=settings.ingest_wait_s)
    metric_store = MetricStore(redis.commands)
    metrics = Metrics(metric_store)
    database = database or build_database(
        database_url(settings),
        pool_size=settings.database_pool,
        on_lock_retry=lambda: metrics.count(registry.LOCK_RETRIES),
    )
    metrics.gauge(
        registry.DATABASE_CONNECTIONS, lambda: {(state,): count for state, count in database.connections().items()}
    )
    broker = build_broker(redis.commands, redis.waiting, QueueMetrics(metrics))
    limiter = _limiter(redis, settings.rate_limit, metrics)
    mailbox = Mailbox(redis.commands, backlog=settings.ingest_backlog)
    known_models = catalogue.load(Path(settings.catalogue_file) if settings.catalogue_file else None)
    models = ModelService(database=database, now=now, catalogue=known_models)
    reader = PromptReader(models=models, metrics=metrics)
    keys = KeyService(database=database, now=now, metrics=metrics)
    prompts = PromptService(database=database, reader=reader, metrics=metrics)
    editor = PromptEditor(database=database, now=now, models=models, reader=reader)
    readiness = Readiness(database=database, client=redis.commands, broker=broker)
    slots = ModelSlots(redis.commands, at_once=settings.model_concurrency)
    providers = providers or Providers(
        catalogue=known_models,
        slot=lambda model, timeout_s: slots.of(model.label, timeout_s),
        observed=provider_calls(metrics),
    )
    credentials = CredentialService(
        database=database,
        now=now,
        secret_key=settings.secret_key,
        from_settings=settings.vendor_credentials,
        providers=providers,
    )
    sessions = SessionService(database=database)
    test_cases = TestCaseService(database=database, now=now, sessions=sessions)
    replays = ReplayService(database=database, now=now, models=models, reader=reader)
    ingest = IngestService(
        database=database,
        mailbox=mailbox,
        now=now,
        batch_bytes=settings.trace_bytes,
        span_bytes=settings.span_bytes,
        metrics=metrics,
    )
    remover = Remover(database=database)
    passwords = Passwords()
    sign_ins = SignInService(
        database=database,
        now=now,
        passwords=passwords,
        by_email=_limiter(redis, WRONG_PASSWORDS_PER_EMAIL, metrics),
        by_address=_limiter(redis, WRONG_PASSWORDS_PER_ADDRESS, metrics),
    )
    accounts = AccountService(database=database, now=now, passwords=passwords, sign_ins=sign_ins)
    services = Services(
        sign_ins=sign_ins,
        accounts=accounts,
        projects=ProjectService(database=database, now=now),
        audit=AuditService(database=database),
        overview=OverviewService(database=database, now=now),
        keys=keys,
        models=models,
        own_models=OwnModelService(database=database, now=now),
        prompts=prompts,
        prompt_editor=editor,
        versions=VersionService(database=database, now=now, reader=reader),
        credentials=credentials,
        runs=build_runs(
            database=database,
            now=now,
            prompts=prompts,
            models=models,
            credentials=credentials,
            providers=providers,
            client=redis.commands,
            call_timeout_s=settings.run_call_s,
            metrics=metrics,
        ),
        usage=UsageService(database=database),
        ingest=ingest,
        sessions=sessions,
        logs=LogService(database=database),
        data_policies=DataPolicyService(database=database, now=now),
        retention=RetentionService(database=database, now=now, remover=remover),
        deletion=DeletionService(database=database, now=now, remover=remover),
        export=ExportService(database=database, sessions=sessions),
        test_cases=test_cases,
        replays=replays,
        replay_history=ReplayHistory(database=database, reader=reader),
        replay_player=ReplayPlayer(
            database=database,
            now=now,
            models=models,
            reader=reader,
            credentials=credentials,
            providers=providers,
            call_timeout_s=settings.run_call_s,
            metrics=metrics,
        ),
        metrics=MetricsService(store=metric_store, client=redis.commands),
        readiness=readiness,
        doctor=Doctor(settings=settings, readiness=readiness, client=redis.commands),
        setup=SetupService(
            database=database,
            now=now,
            keys=keys,
            models=models,
            prompts=prompts,
            editor=editor,
            demo_session=DemoSession(database=database, now=now, ingest=ingest, test_cases=test_cases, replays=replays),
            accounts=accounts,
        ),
    )
    declared = actors.declare(broker, services)
    return Container(
        settings=settings,
        now=now,
        database=database,
        redis=redis,
        broker=broker,
        limiter=limiter,
        mailbox=mailbox,
        metrics=metrics,
        services=services,
        actors=declared,
        run_delivery=RunDelivery(
            broker=broker, actor=declared.run_prompt, runs=services.runs, wait_s=settings.run_wait_s
        ),
        run_follower=Follower(
            client=redis.waiting,
            read_run=lambda project_id, run_id: services.runs.get(project_id=project_id, run_id=run_id),
            wait_s=settings.run_wait_s,
        ),
        replay_delivery=ReplayDelivery(actor=declared.replay, sweeper=ReplaySweeper(database=database, now=now)),
    )


def _limiter(redis: RedisClients, per_minute: int, metrics: Metrics) -> RateLimiter:
    def not_counted() -> None:
        log.warning("rate_limit_not_counted")
        metrics.count(registry.RATE_LIMIT_NOT_COUNTED)

    return RateLimiter(redis.commands, per_minute=per_minute, on_unavailable=not_counted)


def database_url(settings: Settings) -> str:
    """`DATABASE_URL`, or the SQLite file in the home folder."""
    return settings.database_url or f"sqlite:///{settings.home / 'reprise.db'}"
