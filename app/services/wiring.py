"""Builds the services once, from the backends that all of them share."""

from __future__ import annotations

from dataclasses import dataclass

from app.encryption import ContentCipher
from app.redis_store.completions import RunCompletions
from app.redis_store.epochs import Epochs
from app.redis_store.events import LiveRuns
from app.redis_store.rate import strict_limiter
from app.services.accounts.keys import KeyService
from app.services.accounts.passwords import PasswordChecks, Passwords, TryLimits
from app.services.accounts.projects import AuditService, Owners, ProjectService
from app.services.accounts.service import AccountService
from app.services.accounts.sign_in_attempts import KnownOrigins, SignInJournal
from app.services.accounts.sign_ins import SignInService
from app.services.backends import Backends
from app.services.data.deletion import DeletionService, Remover
from app.services.data.export import ExportService
from app.services.data.masking import MaskingRules
from app.services.data.policies import DataPolicyService, RetentionService
from app.services.language_models.credentials import CredentialService
from app.services.language_models.own_models import OwnModelService
from app.services.language_models.service import ModelService
from app.services.operations.demo import DemoSession
from app.services.operations.metrics import MetricsService
from app.services.operations.overview import OverviewService
from app.services.operations.readiness import Doctor, Readiness
from app.services.operations.setup import SetupService
from app.services.prompts.editor import PromptEditor
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptService
from app.services.prompts.versions import VersionService
from app.services.replays.cases import TestCaseService
from app.services.replays.history import ReplayHistory
from app.services.replays.player import ReplayPlayer
from app.services.replays.service import ReplayService
from app.services.runs.claims import HEARTBEAT_S, RUN_WORK, RunClaims, RunEnding, RunSweeper
from app.services.runs.execution import Caller, Executor
from app.services.runs.masking import RunMasking
from app.services.runs.service import ACCEPTED_AT_ONCE, TURN_S, RunService
from app.services.runs.usage import UsageService
from app.services.traces.ingest import IngestService
from app.services.traces.known_prompts import KnownPrompts
from app.services.traces.logs import LogService
from app.services.traces.sessions import SessionService
from app.shares import Quota
from app.turns import Turns
from app.work.heartbeat import Heartbeat

# Wrong passwords in any minute: hopeless for guessing, enough for people.
TRIES_OF_ACCOUNT_AND_ORIGIN = 10
TRIES_OF_ORIGIN = 200
TRIES_OF_ACCOUNT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """The services that several other services depend on."""

    owners: Owners
    masking: MaskingRules
    models: ModelService
    credentials: CredentialService
    reader: PromptReader
    epochs: Epochs
    prompts: PromptService
    editor: PromptEditor
    sessions: SessionService
    test_cases: TestCaseService
    replays: ReplayService
    ingest: IngestService
    keys: KeyService
    accounts: AccountService
    sign_ins: SignInService


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases; each opens its own transactions."""

    accounts: AccountService
    audit: AuditService
    credentials: CredentialService
    data_policies: DataPolicyService
    deletion: DeletionService
    doctor: Doctor
    export: ExportService
    ingest: IngestService
    keys: KeyService
    logs: LogService
    masking: MaskingRules
    metrics: MetricsService
    models: ModelService
    overview: OverviewService
    own_models: OwnModelService
    owners: Owners
    projects: ProjectService
    prompt_editor: PromptEditor
    prompts: PromptService
    readiness: Readiness
    replay_history: ReplayHistory
    replay_player: ReplayPlayer
    replays: ReplayService
    retention: RetentionService
    runs: RunService
    sessions: SessionService
    setup: SetupService
    sign_ins: SignInService
    test_cases: TestCaseService
    usage: UsageService
    versions: VersionService


def build(backends: Backends) -> Services:
    """Every service, so that no request has to make one."""
    shared = _build_shared(backends)
    database, now, remover = backends.database, backends.now, Remover(database=backends.database)
    readiness = Readiness(database=database, client=backends.redis.commands, broker=backends.broker)
    return Services(
        accounts=shared.accounts,
        audit=AuditService(database=database),
        credentials=shared.credentials,
        data_policies=_build_data_policies(backends, shared.masking),
        deletion=DeletionService(database=database, now=now, remover=remover, epochs=shared.epochs),
        doctor=Doctor(settings=backends.settings, readiness=readiness, client=backends.redis.commands),
        export=ExportService(database=database, sessions=shared.sessions),
        ingest=shared.ingest,
        keys=shared.keys,
        logs=LogService(database=database),
        masking=shared.masking,
        metrics=MetricsService(store=backends.metric_store, client=backends.redis.commands),
        models=shared.models,
        overview=OverviewService(database=database, now=now),
        own_models=OwnModelService(database=database, now=now),
        owners=shared.owners,
        projects=ProjectService(database=database, now=now),
        prompt_editor=shared.editor,
        prompts=shared.prompts,
        readiness=readiness,
        replay_history=ReplayHistory(database=database, reader=shared.reader),
        replay_player=_build_replay_player(backends, shared),
        replays=shared.replays,
        retention=RetentionService(database=database, now=now, remover=remover),
        runs=_build_runs(backends, shared),
        sessions=shared.sessions,
        setup=_build_setup(backends, shared),
        sign_ins=shared.sign_ins,
        test_cases=shared.test_cases,
        usage=UsageService(database=database),
        versions=VersionService(database=database, now=now, reader=shared.reader, epochs=shared.epochs),
    )


def _build_shared(backends: Backends) -> _Shared:
    database, now, metrics = backends.database, backends.now, backends.metrics
    masking = MaskingRules(database=database, cipher=ContentCipher(backends.settings.secret_key))
    models = ModelService(database=database, now=now, catalogue=backends.catalogue)
    reader, epochs = PromptReader(models=models, metrics=metrics), Epochs(backends.redis.quick)
    sessions = SessionService(database=database)
    sign_ins, accounts = _build_accounts(backends)
    return _Shared(
        owners=Owners(database),
        masking=masking,
        models=models,
        credentials=_build_credentials(backends),
        reader=reader,
        epochs=epochs,
        prompts=PromptService(database=database, reader=reader, metrics=metrics),
        editor=PromptEditor(database=database, now=now, models=models, reader=reader, epochs=epochs),
        sessions=sessions,
        test_cases=TestCaseService(database=database, now=now, sessions=sessions),
        replays=ReplayService(database=database, now=now, models=models, reader=reader),
        ingest=_build_ingest(backends, masking),
        keys=KeyService(database=database, now=now, metrics=metrics),
        accounts=accounts,
        sign_ins=sign_ins,
    )


def _build_accounts(backends: Backends) -> tuple[SignInService, AccountService]:
    database, now, client = backends.database, backends.now, backends.redis.quick
    passwords, journal = Passwords(), SignInJournal(database=database, now=now, metrics=backends.metrics)
    origins = KnownOrigins(now=now, secret_key=backends.settings.secret_key)
    limits = TryLimits(
        account_and_origin=strict_limiter(client, TRIES_OF_ACCOUNT_AND_ORIGIN),
        origin=strict_limiter(client, TRIES_OF_ORIGIN),
        account=strict_limiter(client, TRIES_OF_ACCOUNT),
    )
    checks = PasswordChecks(database=database, passwords=passwords, limits=limits, origins=origins, journal=journal)
    sign_ins = SignInService(
        database=database, now=now, passwords=passwords, checks=checks, origins=origins, journal=journal
    )
    return sign_ins, AccountService(database=database, now=now, passwords=passwords, checks=checks, sign_ins=sign_ins)


def _build_credentials(backends: Backends) -> CredentialService:
    return CredentialService(
        database=backends.database,
        now=backends.now,
        secret_key=backends.settings.secret_key,
        from_settings=backends.settings.vendor_credentials,
        providers=backends.providers,
    )


def _build_data_policies(backends: Backends, masking: MaskingRules) -> DataPolicyService:
    can_encrypt = bool(backends.settings.secret_key) or backends.settings.embedded
    return DataPolicyService(database=backends.database, now=backends.now, rules=masking, can_encrypt=can_encrypt)


def _build_ingest(backends: Backends, masking: MaskingRules) -> IngestService:
    return IngestService(
        database=backends.database,
        mailbox=backends.mailbox,
        now=backends.now,
        batch_bytes=backends.settings.trace_bytes,
        span_bytes=backends.settings.span_bytes,
        metrics=backends.metrics,
        rules=masking,
        known_prompts=KnownPrompts(backends.database),
    )


def _build_runs(backends: Backends, shared: _Shared) -> RunService:
    database, now, client = backends.database, backends.now, backends.redis.commands
    masking = RunMasking(database=database, rules=shared.masking, client=client)
    completions, live = RunCompletions(client), LiveRuns(client)
    ending = RunEnding(database=database, now=now, metrics=backends.metrics, live=live, completions=completions)
    executor = Executor(
        database=database,
        claims=RunClaims(database, now),
        models=shared.models,
        credentials=shared.credentials,
        caller=Caller(providers=backends.providers, timeout_s=backends.settings.run_call_s),
        heartbeat=Heartbeat(database=database, now=now, table=RUN_WORK, every_s=HEARTBEAT_S),
        live=live,
        masking=masking,
        ending=ending,
    )
    return RunService(
        database=database,
        now=now,
        prompts=shared.prompts,
        providers=backends.providers,
        executor=executor,
        masking=masking,
        sweeper=RunSweeper(database=database, now=now, ending=ending),
        ending=ending,
        owners=shared.owners,
        turns=Turns(Quota.of(ACCEPTED_AT_ONCE, backends.settings.organization_share), timeout_s=TURN_S),
    )


def _build_replay_player(backends: Backends, shared: _Shared) -> ReplayPlayer:
    return ReplayPlayer(
        database=backends.database,
        now=backends.now,
        models=shared.models,
        reader=shared.reader,
        credentials=shared.credentials,
        providers=backends.providers,
        call_timeout_s=backends.settings.run_call_s,
        metrics=backends.metrics,
        rules=shared.masking,
        stopping=lambda: backends.broker.stopping,
    )


def _build_setup(backends: Backends, shared: _Shared) -> SetupService:
    database, now = backends.database, backends.now
    demo_session = DemoSession(
        database=database, now=now, ingest=shared.ingest, test_cases=shared.test_cases, replays=shared.replays
    )
    return SetupService(
        database=database,
        now=now,
        keys=shared.keys,
        models=shared.models,
        prompts=shared.prompts,
        editor=shared.editor,
        demo_session=demo_session,
        accounts=shared.accounts,
    )
