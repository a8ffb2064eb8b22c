"""How the use cases are wired: each service is built once, from the parts that all of them share."""

from __future__ import annotations

from functools import cached_property

from app.process.parts import Parts
from app.redis_store.epochs import Epochs
from app.services.accounts.audit import AuditService
from app.services.accounts.keys import KeyService
from app.services.accounts.origins import KnownOrigins
from app.services.accounts.owners import Owners
from app.services.accounts.password_checks import PasswordChecks, TryLimits
from app.services.accounts.passwords import Passwords
from app.services.accounts.projects import ProjectService
from app.services.accounts.service import AccountService
from app.services.accounts.sign_in_journal import SignInJournal
from app.services.accounts.sign_ins import SignInService
from app.services.data.deletion import DeletionService
from app.services.data.export import ExportService
from app.services.data.masking import MaskingRules
from app.services.data.policies import DataPolicyService
from app.services.data.removal import Remover
from app.services.data.retention import RetentionService
from app.services.data.seal import Seal
from app.services.language_models.credentials import CredentialService
from app.services.language_models.own_models import OwnModelService
from app.services.language_models.service import ModelService
from app.services.operations.demo_session import DemoSession
from app.services.operations.doctor import Doctor
from app.services.operations.metrics import MetricsService
from app.services.operations.overview import OverviewService
from app.services.operations.readiness import Readiness
from app.services.operations.setup import SetupService
from app.services.prompts.editor import PromptEditor
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptService
from app.services.prompts.versions import VersionService
from app.services.replays.cases import TestCaseService
from app.services.replays.history import ReplayHistory
from app.services.replays.player import ReplayPlayer
from app.services.replays.service import ReplayService
from app.services.runs import RunService
from app.services.runs.usage import UsageService
from app.services.runs.wiring import build_runs
from app.services.traces.ingest import IngestService
from app.services.traces.logs import LogService
from app.services.traces.sessions import SessionService

# Wrong passwords in any minute: hopeless for guessing, enough for people.
TRIES_OF_ACCOUNT_AND_ORIGIN = 10
TRIES_OF_ORIGIN = 200
TRIES_OF_ACCOUNT = 20


class Services:
    """The use cases; each opens its own transactions. `build` makes all, so that no request has to."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def build(self) -> None:
        for name, attribute in vars(type(self)).items():
            if isinstance(attribute, cached_property):
                getattr(self, name)

    @cached_property
    def sign_ins(self) -> SignInService:
        parts = self._parts
        return SignInService(
            database=parts.database,
            now=parts.now,
            passwords=self._passwords,
            checks=self._password_checks,
            origins=self._known_origins,
            journal=self.sign_in_journal,
        )

    @cached_property
    def accounts(self) -> AccountService:
        parts = self._parts
        return AccountService(
            database=parts.database,
            now=parts.now,
            passwords=self._passwords,
            checks=self._password_checks,
            sign_ins=self.sign_ins,
        )

    @cached_property
    def sign_in_journal(self) -> SignInJournal:
        parts = self._parts
        return SignInJournal(database=parts.database, now=parts.now, metrics=parts.metrics)

    @cached_property
    def projects(self) -> ProjectService:
        return ProjectService(database=self._parts.database, now=self._parts.now)

    @cached_property
    def audit(self) -> AuditService:
        return AuditService(database=self._parts.database)

    @cached_property
    def owners(self) -> Owners:
        return Owners(self._parts.database)

    @cached_property
    def overview(self) -> OverviewService:
        return OverviewService(database=self._parts.database, now=self._parts.now)

    @cached_property
    def keys(self) -> KeyService:
        return KeyService(database=self._parts.database, now=self._parts.now, metrics=self._parts.metrics)

    @cached_property
    def models(self) -> ModelService:
        parts = self._parts
        return ModelService(database=parts.database, now=parts.now, catalogue=parts.catalogue)

    @cached_property
    def own_models(self) -> OwnModelService:
        return OwnModelService(database=self._parts.database, now=self._parts.now)

    @cached_property
    def prompts(self) -> PromptService:
        return PromptService(database=self._parts.database, reader=self._reader, metrics=self._parts.metrics)

    @cached_property
    def prompt_editor(self) -> PromptEditor:
        parts = self._parts
        return PromptEditor(
            database=parts.database, now=parts.now, models=self.models, reader=self._reader, epochs=self._epochs
        )

    @cached_property
    def versions(self) -> VersionService:
        parts = self._parts
        return VersionService(database=parts.database, now=parts.now, reader=self._reader, epochs=self._epochs)

    @cached_property
    def credentials(self) -> CredentialService:
        parts = self._parts
        return CredentialService(
            database=parts.database,
            now=parts.now,
            secret_key=parts.settings.secret_key,
            from_settings=parts.settings.vendor_credentials,
            providers=parts.providers,
        )

    @cached_property
    def runs(self) -> RunService:
        parts = self._parts
        return build_runs(
            database=parts.database,
            now=parts.now,
            prompts=self.prompts,
            models=self.models,
            credentials=self.credentials,
            providers=parts.providers,
            client=parts.redis.commands,
            call_timeout_s=parts.settings.run_call_s,
            metrics=parts.metrics,
            rules=self.masking,
            owners=self.owners,
            organization_share=parts.settings.organization_share,
        )

    @cached_property
    def usage(self) -> UsageService:
        return UsageService(database=self._parts.database)

    @cached_property
    def ingest(self) -> IngestService:
        parts = self._parts
        return IngestService(
            database=parts.database,
            mailbox=parts.mailbox,
            now=parts.now,
            batch_bytes=parts.settings.trace_bytes,
            span_bytes=parts.settings.span_bytes,
            metrics=parts.metrics,
            rules=self.masking,
        )

    @cached_property
    def sessions(self) -> SessionService:
        return SessionService(database=self._parts.database)

    @cached_property
    def logs(self) -> LogService:
        return LogService(database=self._parts.database)

    @cached_property
    def data_policies(self) -> DataPolicyService:
        parts = self._parts
        can_seal = bool(parts.settings.secret_key) or parts.settings.embedded
        return DataPolicyService(database=parts.database, now=parts.now, rules=self.masking, can_seal=can_seal)

    @cached_property
    def masking(self) -> MaskingRules:
        return MaskingRules(self._parts.database, Seal(self._parts.settings.secret_key))

    @cached_property
    def retention(self) -> RetentionService:
        return RetentionService(database=self._parts.database, now=self._parts.now, remover=self._remover)

    @cached_property
    def deletion(self) -> DeletionService:
        parts = self._parts
        return DeletionService(database=parts.database, now=parts.now, remover=self._remover, epochs=self._epochs)

    @cached_property
    def export(self) -> ExportService:
        return ExportService(database=self._parts.database, sessions=self.sessions)

    @cached_property
    def metrics(self) -> MetricsService:
        return MetricsService(store=self._parts.metric_store, client=self._parts.redis.commands)

    @cached_property
    def test_cases(self) -> TestCaseService:
        return TestCaseService(database=self._parts.database, now=self._parts.now, sessions=self.sessions)

    @cached_property
    def replays(self) -> ReplayService:
        parts = self._parts
        return ReplayService(database=parts.database, now=parts.now, models=self.models, reader=self._reader)

    @cached_property
    def replay_history(self) -> ReplayHistory:
        return ReplayHistory(database=self._parts.database, reader=self._reader)

    @cached_property
    def replay_player(self) -> ReplayPlayer:
        parts = self._parts
        return ReplayPlayer(
            database=parts.database,
            now=parts.now,
            models=self.models,
            reader=self._reader,
            credentials=self.credentials,
            providers=parts.providers,
            call_timeout_s=parts.settings.run_call_s,
            metrics=parts.metrics,
            rules=self.masking,
            stopping=lambda: parts.broker.stopping,
        )

    @cached_property
    def readiness(self) -> Readiness:
        parts = self._parts
        return Readiness(database=parts.database, client=parts.redis.commands, broker=parts.broker)

    @cached_property
    def doctor(self) -> Doctor:
        parts = self._parts
        return Doctor(settings=parts.settings, readiness=self.readiness, client=parts.redis.commands)

    @cached_property
    def setup(self) -> SetupService:
        parts = self._parts
        demo_session = DemoSession(
            database=parts.database,
            now=parts.now,
            ingest=self.ingest,
            test_cases=self.test_cases,
            replays=self.replays,
        )
        return SetupService(
            database=parts.database,
            now=parts.now,
            keys=self.keys,
            models=self.models,
            prompts=self.prompts,
            editor=self.prompt_editor,
            demo_session=demo_session,
            accounts=self.accounts,
        )

    @cached_property
    def _passwords(self) -> Passwords:
        return Passwords()

    @cached_property
    def _password_checks(self) -> PasswordChecks:
        parts = self._parts
        limits = TryLimits(
            account_and_origin=parts.strict_limiter(TRIES_OF_ACCOUNT_AND_ORIGIN),
            origin=parts.strict_limiter(TRIES_OF_ORIGIN),
            account=parts.strict_limiter(TRIES_OF_ACCOUNT),
        )
        return PasswordChecks(
            database=parts.database,
            passwords=self._passwords,
            limits=limits,
            origins=self._known_origins,
            journal=self.sign_in_journal,
        )

    @cached_property
    def _known_origins(self) -> KnownOrigins:
        return KnownOrigins(now=self._parts.now, secret_key=self._parts.settings.secret_key)

    @cached_property
    def _reader(self) -> PromptReader:
        return PromptReader(models=self.models, metrics=self._parts.metrics)

    @cached_property
    def _epochs(self) -> Epochs:
        return Epochs(self._parts.redis.quick)

    @cached_property
    def _remover(self) -> Remover:
        return Remover(database=self._parts.database)
