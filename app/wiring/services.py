"""Builds the services once, from their shared backends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import get_type_hints

import redis

from app.concurrency.quotas import FairSemaphore, Quota
from app.encryption import ContentCipher
from app.metrics.registry import SHARE_REFUSED
from app.models.compression import compress_all, without_compression
from app.models.span_bodies import joined_by_turn, unjoined
from app.network.openid import OpenIdProvider
from app.network.proxies import parse_networks
from app.providers.types import ProviderPort
from app.redis_store.broker import QUEUES, QUEUES_EMBEDDED
from app.redis_store.epochs import Epochs
from app.redis_store.rate import AttemptLimiter
from app.schemas.base import load
from app.schemas.language_models import ModelConfigSchema
from app.schemas.prompts import DraftChangeSchema
from app.services.accounts.audit_log import AuditService
from app.services.accounts.keys import KeyService
from app.services.accounts.openid import OpenIdSettings, OpenIdSignIns, roles_of
from app.services.accounts.openid_limits import OpenIdLimits
from app.services.accounts.owners import Owners
from app.services.accounts.passwords import WrongPasswordLimits
from app.services.accounts.projects import ProjectService
from app.services.accounts.service import AccountService
from app.services.accounts.sign_in_attempts import KnownOrigins
from app.services.accounts.sign_ins import SignInService
from app.services.audits.claims import JudgeAuditSweeper
from app.services.audits.runner import JudgeAuditRunner
from app.services.audits.service import JudgeAuditService
from app.services.data.compression import CompressionService
from app.services.data.export import ExportService
from app.services.data.invariants import InvariantService
from app.services.data.packing import WORK_S as PACKING_S
from app.services.data.packing import SpanPacker
from app.services.data.removal import DataPolicyService, DeletionService, RetentionService
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.following import ExperimentFollower
from app.services.experiments.guard_maps import GuardMapService
from app.services.experiments.guard_offers import GuardOffers
from app.services.experiments.mutant_proposer import MutantProposer, MutantSweeper
from app.services.experiments.programs import ProgramExperiments
from app.services.experiments.schedules import ScheduleService
from app.services.experiments.service import ExperimentService
from app.services.ingest.log_records import LogRecordService
from app.services.ingest.memory import BatchMemory
from app.services.ingest.observed import ObservedService
from app.services.ingest.openings import OpeningService
from app.services.ingest.rejections import RefusalService
from app.services.ingest.service import IngestService
from app.services.ingest.settling import WORK_S as SETTLING_S
from app.services.ingest.settling import TurnSettler
from app.services.insight import counter as insight_counter
from app.services.insight.counter import InsightCounter
from app.services.insight.service import InsightService
from app.services.language_models.credentials import CredentialService
from app.services.language_models.prices import PriceService
from app.services.language_models.service import ModelService, OwnModelService
from app.services.masking.rules import MaskingRules
from app.services.operations.metrics import MetricsService
from app.services.operations.overview import OverviewService
from app.services.operations.readiness import Doctor, Readiness
from app.services.operations.setup import SetupService
from app.services.prompt_log.service import LogService
from app.services.prompts.adoption import AdoptionService
from app.services.prompts.editor import PromptEditor, VersionService
from app.services.prompts.labels import LabelService
from app.services.prompts.service import PromptService
from app.services.replays.acceptance import AcceptanceService
from app.services.replays.calibrations import CalibrationService
from app.services.replays.cases import TestCaseService
from app.services.replays.claims import ReplaySweeper
from app.services.replays.effect_proposer import EffectProposer
from app.services.replays.history import ReplayHistory
from app.services.replays.player import ReplayPlayer
from app.services.replays.program_requests import ProgramRequests
from app.services.replays.program_sweeper import ProgramSweeper
from app.services.replays.programs import ProgramService
from app.services.replays.service import ReplayService
from app.services.runs.claims import HEARTBEAT_S, RUN_WORK
from app.services.runs.execution import RunCaller
from app.services.runs.memory import RunMemory
from app.services.runs.new_runs import ACCEPTED_AT_ONCE
from app.services.runs.service import RunService
from app.services.runs.usage import UsageService
from app.services.scores.checking import OnlineCheckRunner
from app.services.scores.online_checks import OnlineCheckService
from app.services.scores.service import ScoreService
from app.services.search import indexing as search_index
from app.services.search.indexing import SearchIndexer
from app.services.sessions.instructions import InstructionService
from app.services.sessions.listing import SessionListService
from app.services.sessions.saved_filters import SavedFilterService
from app.services.sessions.service import SessionService
from app.services.sessions.sums import SessionSumService
from app.services.sessions.turn_listing import SessionPartService
from app.services.suites import making as fingerprint_making
from app.services.suites.accepting import SuiteAcceptance
from app.services.suites.coverage import CoverageService
from app.services.suites.finding_watch import FindingWatch
from app.services.suites.findings import FindingService
from app.services.suites.making import FingerprintMaker
from app.services.suites.proposing import SuiteProposer
from app.services.suites.service import SuiteService
from app.services.webhooks.alerts import AlertService
from app.services.webhooks.deliveries import WebhookDeliverer
from app.services.webhooks.rejections import RejectionNotifier
from app.services.webhooks.service import WebhookService
from app.webhooks.sender import WebhookSender
from app.wiring.backends import Backends
from app.wiring.parts import ServiceParts
from app.work.heartbeat import Heartbeat
from app.work.work_time import WorkTime
from config.settings import Settings

# Wrong passwords per minute: enough for people, too few for guessing.
ATTEMPTS_OF_ACCOUNT_AND_ORIGIN = 10
ATTEMPTS_OF_ORIGIN = 200
ATTEMPTS_OF_ACCOUNT = 20
# Codes per minute that an OpenID provider refuses. The first number is above that of people who sign in at once at an
# office, because each is counted until the provider has answered.
CODES_OF_NETWORK = 30
CODES_OF_ACCOUNT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases; each opens its own transactions."""

    acceptance: AcceptanceService
    accounts: AccountService
    adoption: AdoptionService
    alerts: AlertService
    audit: AuditService
    calibrations: CalibrationService
    compression: CompressionService
    coverage: CoverageService
    credentials: CredentialService
    data_policies: DataPolicyService
    deletion: DeletionService
    doctor: Doctor
    effect_proposer: EffectProposer
    experiment_advancer: ExperimentAdvancer
    experiment_follower: ExperimentFollower
    experiments: ExperimentService
    export: ExportService
    finding_watch: FindingWatch
    findings: FindingService
    fingerprint_maker: FingerprintMaker
    guard_maps: GuardMapService
    guard_offers: GuardOffers
    ingest: IngestService
    insight: InsightService
    invariants: InvariantService
    insight_counter: InsightCounter
    instructions: InstructionService
    judge_audit_runner: JudgeAuditRunner
    judge_audit_sweeper: JudgeAuditSweeper
    judge_audits: JudgeAuditService
    keys: KeyService
    labels: LabelService
    log_records: LogRecordService
    logs: LogService
    masking: MaskingRules
    metrics: MetricsService
    models: ModelService
    mutant_proposer: MutantProposer
    mutant_sweeper: MutantSweeper
    observed: ObservedService
    online_check_runner: OnlineCheckRunner
    online_checks: OnlineCheckService
    overview: OverviewService
    own_models: OwnModelService
    owners: Owners
    prices: PriceService
    program_experiments: ProgramExperiments
    program_requests: ProgramRequests
    program_sweeper: ProgramSweeper
    programs: ProgramService
    projects: ProjectService
    prompt_editor: PromptEditor
    prompts: PromptService
    readiness: Readiness
    refusals: RefusalService
    replay_history: ReplayHistory
    replay_player: ReplayPlayer
    replay_sweeper: ReplaySweeper
    replays: ReplayService
    retention: RetentionService
    runs: RunService
    saved_filters: SavedFilterService
    schedules: ScheduleService
    scores: ScoreService
    search_indexer: SearchIndexer
    session_parts: SessionPartService
    session_list: SessionListService
    session_sums: SessionSumService
    sessions: SessionService
    setup: SetupService
    sign_ins: SignInService
    openid: OpenIdSignIns
    suite_acceptance: SuiteAcceptance
    suite_proposer: SuiteProposer
    suites: SuiteService
    test_cases: TestCaseService
    span_packer: SpanPacker
    turn_settler: TurnSettler
    usage: UsageService
    versions: VersionService
    rejection_notifier: RejectionNotifier
    webhook_deliverer: WebhookDeliverer
    webhook_sender: WebhookSender
    webhooks: WebhookService


def build(backends: Backends) -> Services:
    """Build every service, so that no request has to create one.

    Services with values that no type identifies, such as limits, are made first; the others follow from `Services`.
    """
    made: dict[object, object] = {kind: getattr(backends, name) for name, kind in get_type_hints(Backends).items()}
    epochs = Epochs(backends.redis.quick, backends.redis.local)
    parts = ServiceParts(
        made | {redis.Redis: backends.redis.commands, ProviderPort: backends.providers, Epochs: epochs}
    )
    _add_accounts(parts, backends)
    _add_data(parts, backends)
    _add_calls(parts, backends)
    _add_webhooks(parts, backends.settings)
    _add_operations(parts, backends)
    return parts.make(Services)


def _add_accounts(parts: ServiceParts, backends: Backends) -> None:
    client, settings = backends.redis.quick, backends.settings
    parts.add(
        WrongPasswordLimits(
            account_and_origin=AttemptLimiter(client, ATTEMPTS_OF_ACCOUNT_AND_ORIGIN),
            origin=AttemptLimiter(client, ATTEMPTS_OF_ORIGIN),
            account=AttemptLimiter(client, ATTEMPTS_OF_ACCOUNT),
        )
    )
    parts.add(
        OpenIdLimits(
            network=AttemptLimiter(client, CODES_OF_NETWORK),
            account=AttemptLimiter(client, CODES_OF_ACCOUNT),
            attempt=AttemptLimiter(client, 1),
        )
    )
    parts.make(partial(KnownOrigins, secret_key=settings.secret_key))
    parts.add(_openid(settings))
    parts.make(partial(CredentialService, secret_key=settings.secret_key, from_settings=settings.vendor_credentials))


def _openid(settings: Settings) -> OpenIdSettings:
    provider = OpenIdProvider(
        issuer=settings.openid_issuer,
        client_id=settings.openid_client_id,
        client_secret=settings.openid_client_secret,
        redirect_uri=f"{settings.public_url.rstrip('/')}/sign-in/openid/return",
        scopes=settings.openid_scopes,
        groups_claim=settings.openid_groups,
    )
    return OpenIdSettings(
        provider=provider if settings.openid_issuer else None,
        name=settings.openid_name,
        roles=roles_of(settings.openid_roles),
        trust_email=settings.openid_trust_email == "on",
    )


def _add_data(parts: ServiceParts, backends: Backends) -> None:
    settings = backends.settings
    parts.add(ContentCipher(settings.secret_key))
    parts.make(partial(DataPolicyService, can_encrypt=bool(settings.secret_key) or settings.embedded))
    compressed = settings.compression == "on"
    searchable = settings.search == "on"
    busy = backends.mailbox.is_busy
    parts.make(partial(SearchIndexer, enabled=searchable, work_time=WorkTime(search_index.WORK_S, busy)))
    parts.make(partial(InsightCounter, work_time=WorkTime(insight_counter.SWEEP_S, busy)))
    of_fingerprints = WorkTime(fingerprint_making.WORK_S, busy, busy_part=fingerprint_making.BUSY_PART)
    parts.make(partial(FingerprintMaker, work_time=of_fingerprints))
    parts.make(partial(TurnSettler, work_time=WorkTime(SETTLING_S, busy)))
    parts.make(partial(SpanPacker, enabled=compressed, work_time=WorkTime(PACKING_S, busy)))
    parts.make(partial(AdoptionService, checked_config=partial(load, ModelConfigSchema())))
    parts.make(partial(InstructionService, checked_change=partial(load, DraftChangeSchema())))
    parts.make(partial(OpeningService, searchable=searchable))
    parts.make(
        partial(
            LogRecordService,
            record_bytes=settings.span_bytes,
            to_stored=compress_all if compressed else without_compression,
        )
    )
    parts.make(partial(BatchMemory, batch_bytes=settings.trace_bytes))
    parts.make(
        partial(
            IngestService,
            span_bytes=settings.span_bytes,
            to_stored=joined_by_turn if compressed else unjoined,
            searchable=searchable,
            storer=backends.storer,
        )
    )


def _add_calls(parts: ServiceParts, backends: Backends) -> None:
    settings = backends.settings
    parts.add(
        FairSemaphore(
            Quota.of(ACCEPTED_AT_ONCE, settings.organization_share),
            on_refused=lambda: backends.metrics.count(SHARE_REFUSED, "run_turns"),
        )
    )
    parts.make(partial(Heartbeat, table=RUN_WORK, every_s=HEARTBEAT_S))
    parts.make(partial(RunCaller, timeout_s=settings.run_call_s))
    background, call_timeout_s = backends.database.background, settings.run_call_s

    def stopping() -> bool:
        return backends.broker.stopping

    parts.make(partial(RunMemory, stopping=stopping))
    parts.make(partial(ProgramRequests, call_timeout_s=call_timeout_s))
    parts.make(partial(ReplayPlayer, database=background, call_timeout_s=call_timeout_s, stopping=stopping))
    parts.make(partial(EffectProposer, database=background, call_timeout_s=call_timeout_s))
    parts.make(partial(MutantProposer, database=background, call_timeout_s=call_timeout_s))
    parts.make(partial(OnlineCheckRunner, database=background, call_timeout_s=call_timeout_s, stopping=stopping))
    parts.make(partial(JudgeAuditRunner, database=background, call_timeout_s=call_timeout_s, stopping=stopping))


def _add_webhooks(parts: ServiceParts, settings: Settings) -> None:
    parts.add(WebhookSender(networks=parse_networks(settings.webhook_networks)))
    parts.make(partial(WebhookService, secret_key=settings.secret_key))
    parts.make(partial(WebhookDeliverer, base_url=settings.public_url.rstrip("/")))


def _add_operations(parts: ServiceParts, backends: Backends) -> None:
    queues = QUEUES_EMBEDDED if backends.settings.embedded else QUEUES
    parts.make(partial(Readiness, queues=queues, storer=backends.storer))
    parts.make(partial(MetricsService, queues=queues))
