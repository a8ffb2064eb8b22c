"""Asks a model for mutants of a guard map, before the map plays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any, NamedTuple

import structlog
from msgspec import structs, to_builtins
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import NotFound, ProviderError
from app.guard.mutants import Mutant
from app.guard.proposals import askable, asked_together, propose_mutants
from app.guard.sentences import Sentence, sentences
from app.models import experiments, prompt_versions
from app.models.experiments import ExperimentRow
from app.models.language_models import LanguageModel
from app.providers.types import ProviderPort
from app.services.experiments.guard_plan import (
    MapParameters,
    MapPlan,
    MutantQuestion,
    PlannedMutant,
    open_question,
    question_of,
)
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.prompts.reader import PromptReader
from app.services.replays.budget import Unlimited
from app.services.replays.ports import MeteredModel
from app.services.replays.question_usage import AskedFor, QuestionUsage
from app.timestamps import Now
from app.values.storable import cut
from app.values.structs import convert
from app.work.sweeper import ROWS_PER_SWEEP, Resending, Watch

log = structlog.get_logger(__name__)

SOURCE = "mutants"
"""The source of these questions in usage."""
ATTEMPTS_MAX = 5
INTERRUPTED = f"It was interrupted {ATTEMPTS_MAX} times: its worker died or was stopped."
ERROR_MAX = 1_000
ANSWER_S = 300.0
"""The longest time that one answer of the model may need."""
STALE_S = ANSWER_S + 60


class _Round(NamedTuple):
    """One question: the map, what was asked for it before, and the sentences that it is about."""

    row: ExperimentRow
    plan: MapPlan
    question: MutantQuestion
    asked: Sequence[Sentence]
    left: bool


class _Reply(NamedTuple):
    mutants: Sequence[Mutant] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantProposer:
    """`call_timeout_s` limits one answer of the model, if it is less than `ANSWER_S`."""

    database: Database
    now: Now
    reader: PromptReader
    models: ModelService
    credentials: CredentialService
    providers: ProviderPort
    call_timeout_s: float

    def propose(self, experiment_id: int) -> None:
        """Ask for the mutants of a map and add them to it, unless another worker does so or the map has ended.

        What an earlier worker added stays: only the question in which it died is asked again. If the model fails, the
        map keeps the mutants that it has, and the question has the error.
        """
        claim = token_hex(8)
        if not self._put_claim(experiment_id, None, claim):
            return
        try:
            while (question := self._next(experiment_id, claim)) is not None:
                self._ask(question)
        finally:
            self._put_claim(experiment_id, claim, None)

    def release(self, experiment_id: int, claim: str) -> bool:
        """Let another worker ask; False if this claim has ended."""
        return self._put_claim(experiment_id, claim, None)

    def _put_claim(self, experiment_id: int, before: str | None, after: str | None) -> bool:
        """Change the claim of an open question; False if it is not open, or has another claim than `before`."""

        def put(connection: Connection) -> bool:
            experiments.lock_experiment(connection, experiment_id=experiment_id)
            row = experiments.find_unfinished(connection, experiment_id=experiment_id)
            question = open_question(row)
            if row is None or question is None or question.claim != before:
                return False
            attempts = question.attempts + (after is not None)
            values = _changed(row, structs.replace(question, claim=after, attempts=attempts))
            experiments.change_experiment(connection, experiment_id=experiment_id, values=values)
            return True

        return self.database.retrying(put)

    def _next(self, experiment_id: int, claim: str) -> _Round | None:
        """Return the next question; None if there is none, or if another worker has it."""
        with self.database.read() as connection:
            row = experiments.find_unfinished(connection, experiment_id=experiment_id)
            question = open_question(row)
            if row is None or question is None or question.claim != claim:
                return None
            plan = MapPlan.of(row, experiments.contents_of(connection, experiment_id=experiment_id))
            text = prompt_versions.get_snapshot(connection, snapshot_id=row.candidate_snapshot_id).value
        chosen = (sentence for sentence in sentences(text) if sentence.number in plan.sentences)
        left = [sentence for sentence in askable(chosen) if sentence.number >= (question.next or 0)]
        asked = asked_together(left)
        return _Round(row, plan, question, asked, left=len(asked) < len(left))

    def _ask(self, asks: _Round) -> None:
        used, most = QuestionUsage(), asks.plan.parameters.max_cost
        model, reply = None, _Reply()
        if asks.question.attempts > ATTEMPTS_MAX:
            reply = _Reply(error=INTERRUPTED)
        # A map that has reached its cost ends with what it has.
        elif asks.asked and (most is None or asks.question.cost_usd < most):
            try:
                with self.database.read() as connection:
                    head = self.reader.head(connection, project_id=asks.row.project_id, prompt_id=asks.row.prompt_id)
                    owner = {"organization_id": head.organization_id}
                    model = self.models.read(connection, **owner, model_id=asks.question.model_id)
                reply = _Reply(self._replied(asks, model, head.organization_id, used))
            except (NotFound, ProviderError) as problem:
                log.warning("mutants_not_proposed", experiment_id=asks.row.id, error=str(problem))
                reply = _Reply(error=cut(str(problem), ERROR_MAX))
        self.database.retrying(partial(self._store, asks=asks, reply=reply, model=model, used=used))

    def _replied(
        self, asks: _Round, model: LanguageModel, organization_id: int, used: QuestionUsage
    ) -> Sequence[Mutant]:
        ports = self.providers, self.credentials, used, Unlimited()
        seconds = min(self.call_timeout_s, ANSWER_S)
        metered = MeteredModel(model, {"temperature": 0}, *ports, seconds, organization_id)
        known = [planned.mutant for planned in asks.plan.mutants]
        return propose_mutants(metered, lambda: token_hex(16), asks.asked, known)

    def _store(
        self, connection: Connection, *, asks: _Round, reply: _Reply, model: LanguageModel | None, used: QuestionUsage
    ) -> None:
        """Add what the question cost, and its mutants unless the map has ended or another worker asks now."""
        of_map, plan, before = {"experiment_id": asks.row.id}, asks.plan, asks.question
        experiments.lock_experiment(connection, **of_map)
        row = experiments.find_experiment(connection, project_id=asks.row.project_id, **of_map, kind="guard_map")
        question = question_of(row)
        if row is None or question is None:
            return
        values: dict[str, Any] = {}
        question = structs.replace(question, cost_usd=question.cost_usd + used.cost_usd)
        if not row.finished and (question.claim, question.next) == (before.claim, before.next):
            goes_on = asks.left and model is not None and reply.error is None
            following = asks.asked[-1].number + 1 if goes_on else None
            question = structs.replace(question, next=following, error=reply.error)
            values = {"models": [*plan.mutants, *(_planned(plan, mutant) for mutant in reply.mutants)]}
        experiments.change_experiment(connection, **of_map, values=values | _changed(row, question))
        if model is not None:
            spent = used.spent(runs=1, failed=reply.error is not None)
            AskedFor(SOURCE, row.project_id, row.prompt_id, row.id).count(connection, model, spent, self.now())


@dataclass(slots=True, kw_only=True)
class MutantSweeper:
    """Finds the maps for which a worker has to ask a model: new ones, and those of workers that died."""

    database: Database
    proposer: MutantProposer
    monotonic: Callable[[], float] = time.monotonic
    _resending: Resending = field(default_factory=Resending, init=False)
    _claims: Watch[tuple[int, str, int | None]] = field(init=False)
    _waiting: Watch[int] = field(init=False)

    def __post_init__(self) -> None:
        self._claims = Watch(monotonic=self.monotonic)
        self._waiting = Watch(monotonic=self.monotonic)

    def sweep(self) -> list[ExperimentRow]:
        """Return the maps to send a message for; a claim that this process has seen for `STALE_S` is released."""
        with self.database.read() as connection:
            rows = experiments.queued_maps(connection, limit=ROWS_PER_SWEEP)
        asking = {row.id: question for row in rows if (question := open_question(row)) is not None}
        claims = [(id_, question.claim, question.next) for id_, question in asking.items() if question.claim]
        ages_s = self._claims.look(claims)
        freed = {
            id_ for (id_, claim, _), age_s in ages_s.items() if age_s >= STALE_S and self.proposer.release(id_, claim)
        }
        waited_s = self._waiting.look(id_ for id_, question in asking.items() if not question.claim)
        due = freed.union(self._resending.due(waited_s))
        return [row for row in rows if row.id in due]


def _changed(row: ExperimentRow, question: MutantQuestion) -> dict[str, Any]:
    """Return the column of a map with this question."""
    return {"design": to_builtins(structs.replace(convert(row.design, MapParameters), question=question))}


def _planned(plan: MapPlan, mutant: Mutant) -> PlannedMutant:
    """Return a proposed mutant; it is played on the same test cases first as the other mutants of its sentence."""
    first = plan.mutants[plan.sentences[mutant.sentence][0]].first
    return PlannedMutant(mutant.sentence, mutant.operator, mutant.begin, mutant.end, mutant.by, first)
