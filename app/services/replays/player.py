"""Plays replays in a worker: claims the row, plays outside of any transaction, and stores the result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

import structlog
from msgspec import structs
from sqlalchemy import Connection

from app.concurrency.quotas import NoFreePlace
from app.database.transactions import UNSTORABLE, Database
from app.errors import Invalid, NotFound, Unavailable
from app.metrics import Metrics
from app.metrics.registry import REPLAYS
from app.models import replays
from app.models.language_models import LanguageModel
from app.models.program_replays import remove_program
from app.models.replays import ReplayRow
from app.providers.types import ProviderPort
from app.replay import documents, results
from app.replay.engine import replay
from app.replay.ports import JudgePort, Ports
from app.replay.result_types import ReplayResult
from app.services.language_models.credentials import CredentialService
from app.services.masking.rules import MaskingRules, MessageMasking
from app.services.replays.budget import Budget, ExperimentBudget, Unlimited
from app.services.replays.claims import ATTEMPTS_MAX, INTERRUPTED, REPLAY_WORK
from app.services.replays.earlier_verdicts import EarlierVerdicts, scope_of
from app.services.replays.masking import masked_replay
from app.services.replays.memory import HeldMemory, ReplayMemory
from app.services.replays.ports import AnsweredBytes, MeteredModel, Progress
from app.services.replays.preparation import Preparation, Prepared
from app.services.replays.program_calls import program_ports
from app.suites.behaviour import behaviour_of
from app.timestamps import Now
from app.work.heartbeat import Heartbeat, Patience
from app.work.table import Claim

log = structlog.get_logger(__name__)

NOT_STORED = "The replay was played, but its result can't be stored."
# Turns with a recorded history that are played concurrently.
SIDE_BY_SIDE = 8
HEARTBEAT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlayer:
    """Plays replays in a worker.

    `call_timeout_s` limits one answer of a model. `stopping` returns True once this process ends: then the replay is
    given up, and another worker plays it again.
    """

    database: Database
    now: Now
    preparation: Preparation
    credentials: CredentialService
    providers: ProviderPort
    call_timeout_s: float
    metrics: Metrics
    rules: MaskingRules
    stopping: Callable[[], bool]
    memory: ReplayMemory
    heartbeat_s: float = HEARTBEAT_S
    patience: Patience = field(default_factory=Patience)

    def play(self, replay_id: int) -> bool:
        """Play the replay, unless another worker has it or it has ended: a message may be delivered twice.

        Returns False if this process had no room for it in time: its message goes back to the queue.

        Raises `Unavailable` if this process ends before the replay does. `stopping` is polled between two calls of a
        model, because an exception thrown into the thread could leave a lock of the process locked for ever.
        """
        with self.database.read() as connection:
            row = next(iter(replays.get_replays(connection, ids=[replay_id])), None)
        # What another worker plays would only wait here for memory.
        if row is None or row.finished or row.claim is not None:
            return True
        with ExitStack() as held:
            try:
                held_memory = held.enter_context(self.memory.hold(row, stopping=self.stopping))
            except NoFreePlace:
                if self.stopping():
                    raise
                return False
            self._claim_and_play(replay_id, held_memory)
        return True

    def _claim_and_play(self, replay_id: int, held_memory: HeldMemory) -> None:
        claim = Claim(replay_id, str(uuid4()), self.now())
        row = self.database.retrying(lambda connection: _claimed(connection, claim))
        if row is None:
            return
        ended = False
        try:
            self._play(row, claim, held_memory)
            ended = True
        finally:
            # A bug, a time limit or the end of this process. Releasing the claim lets the next worker begin at once.
            if not ended:
                self.database.retrying(lambda connection: REPLAY_WORK.release(connection, claim))

    def _play(self, row: ReplayRow, claim: Claim, held_memory: HeldMemory) -> None:
        if row.attempts > ATTEMPTS_MAX:
            self._store(row, claim, {"status": "error", "error": INTERRUPTED})
            return
        try:
            with self.database.read() as connection:
                prepared = self.preparation.prepare(connection, row)
        except (NotFound, Invalid) as gone:
            self._store(row, claim, {"status": "error", "error": str(gone)})
            return
        progress = Progress(row)
        heartbeat = Heartbeat(
            database=self.database, now=self.now, table=REPLAY_WORK, every_s=self.heartbeat_s, progress=progress.columns
        )
        with (
            heartbeat.of(row.id, claim.token),
            ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix=f"replay-{row.id}") as pool,
        ):
            budget = self._budget(prepared, claim, progress, heartbeat)
            verdicts = self._earlier_verdicts(prepared)
            ports = self._ports(prepared, progress, budget, heartbeat, verdicts, held_memory)
            result = replay(prepared.case, ports, pool.map, faults=prepared.faults)
            if budget.stopped and result.status != "failed":
                result = structs.replace(result, status="cancelled")
            if result.status == "cancelled" and self.stopping() and not heartbeat.lost():
                raise Unavailable("This process is ending; another one will play the replay again.")
            self._end(row, claim, result, progress.columns(), verdicts)

    def _budget(self, prepared: Prepared, claim: Claim, progress: Progress, heartbeat: Heartbeat) -> Budget:
        if prepared.row.budget_id is None or prepared.max_cost is None:
            return Unlimited()
        return ExperimentBudget(
            database=self.database,
            now=self.now,
            experiment_id=prepared.row.budget_id,
            claim=claim,
            max_cost=prepared.max_cost,
            columns=progress.columns,
            cancelled=lambda: self._interrupted(heartbeat),
            patience=self.patience,
        )

    def _interrupted(self, heartbeat: Heartbeat) -> bool:
        return heartbeat.lost() or self.stopping()

    def _earlier_verdicts(self, prepared: Prepared) -> EarlierVerdicts:
        rules = self.rules.of(prepared.row.project_id)
        return EarlierVerdicts(
            database=self.database,
            scope=scope_of(prepared.row),
            now=self.now(),
            judge=prepared.judge,
            masking=lambda: MessageMasking(rules) if rules else None,
        )

    def _ports(
        self,
        prepared: Prepared,
        progress: Progress,
        budget: Budget,
        heartbeat: Heartbeat,
        verdicts: EarlierVerdicts,
        held_memory: HeldMemory,
    ) -> Ports:
        organization_id, content = prepared.row.organization_id, prepared.draft.content
        judge = self._judge(organization_id, prepared.judge, progress, budget)
        interrupted = partial(self._interrupted, heartbeat)
        if prepared.program is not None:
            ports = program_ports(prepared.program, judge, progress.note, interrupted, verdicts)
            return replace(ports, proposed=prepared.proposed)
        metered = self._metered(organization_id, content.model, content.config, progress, budget)
        model = replace(metered, reported=progress.note_model, answered=AnsweredBytes(held_memory.answered))
        return Ports(
            model=model,
            draft=prepared.draft,
            judge=judge,
            progress=progress.note,
            cancelled=interrupted,
            earlier_verdicts=verdicts,
            reads=model.reads,
            proposed=prepared.proposed,
        )

    def _judge(
        self, organization_id: int, model: LanguageModel | None, progress: Progress, budget: Budget
    ) -> JudgePort | None:
        if model is None:
            return None
        metered = self._metered(organization_id, model, {"temperature": 0}, progress, budget)
        return replace(metered, reported=progress.note_judge_model).as_judge()

    def _metered(
        self, organization_id: int, model: LanguageModel, config: dict[str, Any], progress: Progress, budget: Budget
    ) -> MeteredModel:
        return MeteredModel(
            model, config, self.providers, self.credentials, progress, budget, self.call_timeout_s, organization_id
        )

    def _end(
        self, row: ReplayRow, claim: Claim, result: ReplayResult, counted: dict[str, Any], verdicts: EarlierVerdicts
    ) -> None:
        """Store the result; if the database can't store it, store that failure. `counted` is stored in both cases."""
        try:
            dumped = documents.dump(result)
            columns = {
                "counts": results.counts(result.turns),
                "violations": dumped["violations"],
                "accepted_partial": result.accepted_partial,
                "answers_digest": results.answers_digest(result.turns),
                "behaviour": behaviour_of(result.turns),
                "result": dumped,
                "error": result.error,
                # A replay with faults ends with the turn of the last one.
                **({"total": counted["done"]} if row.faults else {}),
            }
            self._store(row, claim, {"status": result.status, **columns, **counted}, verdicts)
        except (*UNSTORABLE, Unavailable) as error:
            # For a result larger than MySQL's packet size the error looks like a lost connection.
            log.error("replay_not_stored", replay_id=row.id, error=type(error).__name__)
            self._store_once(row, claim, {"status": "error", "error": NOT_STORED} | counted)

    def _store(
        self, row: ReplayRow, claim: Claim, values: dict[str, Any], verdicts: EarlierVerdicts | None = None
    ) -> None:
        self.patience(self._store_once, row, claim, values, verdicts)

    def _store_once(
        self, row: ReplayRow, claim: Claim, values: dict[str, Any], verdicts: EarlierVerdicts | None = None
    ) -> None:
        """End the replay, and keep its new verdicts; if it was cancelled meanwhile, only add the result to it."""
        masking = self.rules.of(row.project_id)
        kept = (masked_replay(values, MessageMasking(masking)) if masking else values) | {"claim": None}

        def work(connection: Connection) -> bool:
            if REPLAY_WORK.finish(connection, claim, kept, now=self.now()):
                if verdicts is not None:
                    verdicts.store(connection)
                if row.external:
                    remove_program(connection, project_id=row.project_id, replay_id=row.id)
                return True
            columns = {name: value for name, value in kept.items() if name != "status"}
            return replays.complete_cancelled(connection, replay_id=row.id, token=claim.token, values=columns)

        stored = self.database.retrying(work)
        log.info("replay", replay_id=row.id, status=values["status"], attempt=row.attempts, stored=stored)
        self.metrics.count(REPLAYS, values["status"])


def _claimed(connection: Connection, claim: Claim) -> ReplayRow | None:
    """Claim the replay and return it; None if it can't be claimed."""
    if not REPLAY_WORK.claim(connection, [claim.row_id], token=claim.token, now=claim.alive_at):
        return None
    return replays.get_replays(connection, ids=[claim.row_id])[0]
