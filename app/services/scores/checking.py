"""Runs online checks: a share of the recorded turns is checked and scored some time after their last span."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Invalid, NotFound, ProviderError
from app.models import online_checks, scores, sessions
from app.models.online_checks import OnlineCheck
from app.models.queries import first_batch_id, new_batch_id
from app.models.scores import ScoreRow
from app.models.turns import TurnRow
from app.otlp.evaluations import COMMENT_MAX
from app.prices.book import NO_PRICES
from app.providers.types import ProviderPort
from app.replay.case_types import Check, CheckedAnswer
from app.replay.checks import Checker
from app.replay.comparison import TOO_LONG
from app.replay.judge_types import JudgedTurn, OpenStep
from app.replay.result_types import ProducedAnswer
from app.replay.text_reader import COMPARISON_STEPS_MAX, TextReader
from app.replay.texts.sources import Sources
from app.services.accounts.owners import Owners
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.masking.rules import MaskingRules
from app.services.replays.ports import MeteredModel
from app.services.scores.judge_spending import JudgeSpending
from app.services.search.turn_sizes import CHECK_BYTES, sizes_of
from app.services.sessions.service import built_session
from app.sessions.facts import load
from app.sessions.types import Turn
from app.timestamps import Now, ns_of
from app.values.budget import WorkBudget

SETTLED = timedelta(minutes=1)
"""Turns are checked once no span has come for them for this time."""
HELD = timedelta(minutes=20)
"""A worker holds a check for at most this time: longer than the time limit of its message."""
PAUSE = timedelta(minutes=5)
"""A check pauses for this time after its judge model has failed."""
WORK_S = 60.0
TURNS_PER_CHECKING = 100
DUE_MAX = 200
PROBLEM_MAX = 1_000


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The outcome of a check of one turn.

    `passed` is None if there is no verdict: a judge came to none, or the turn is too long. `failed` is the error of a
    judge that could not be called.
    """

    passed: bool | None
    reason: str | None = None
    failed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineCheckRunner:
    """Checks the turns of online checks, one check at a time.

    `call_timeout_s` limits one answer of a judge. `stopping` returns True once this process ends. A turn is `settled`
    once no span has come for it for this time.
    """

    database: Database
    now: Now
    models: ModelService
    owners: Owners
    credentials: CredentialService
    providers: ProviderPort
    rules: MaskingRules
    call_timeout_s: float
    stopping: Callable[[], bool]
    settled: timedelta = SETTLED
    monotonic: Callable[[], float] = time.monotonic

    def due(self) -> dict[int, int]:
        """Return the organization ids of the checks that have unchecked turns, by check id."""
        now = self.now()
        before = first_batch_id(now - self.settled)
        with self.database.read() as connection:
            return online_checks.due(connection, now=now, before_batch=before, limit=DUE_MAX)

    def run(self, check_id: int) -> None:
        """Check turns for a minute at most; does nothing while another worker runs the check.

        The queue may deliver the message twice.
        """
        now = self.now()
        until = now + HELD
        held = self.database.retrying(
            lambda connection: online_checks.hold(connection, check_id=check_id, now=now, until=until)
        )
        if not held:
            return
        pause = timedelta()
        try:
            if self._work(check_id, until):
                pause = PAUSE
        finally:
            self.database.retrying(
                lambda connection: online_checks.change_held(
                    connection, check_id=check_id, until=until, held_until=self.now() + pause
                )
            )

    def _work(self, check_id: int, until: datetime) -> bool:
        """Check turns until there are none or the time is up; returns True when the judge failed."""
        end = self.monotonic() + WORK_S
        while not self._is_over(end):
            with self.database.read() as connection:
                check = online_checks.find_held(connection, check_id=check_id, until=until)
            if check is None or not check.enabled:
                return False
            before = first_batch_id(self.now() - self.settled)
            turns = self._turns(check, before)
            for id_, row in turns:
                check = replace(check, position=row.batch_id, position_id=id_)
                check, outcome = self._checked(check, row)
                if outcome is not None and not self._store(check, row, outcome):
                    return False
                if outcome is not None and outcome.failed:
                    return True
                if self._is_over(end):
                    break
            else:
                if len(turns) < TURNS_PER_CHECKING:
                    check = replace(check, position=max(before, check.position), position_id=0)
            if not self._store(check) or len(turns) < TURNS_PER_CHECKING:
                return False
        return False

    def _is_over(self, end: float) -> bool:
        return self.stopping() or self.monotonic() >= end

    def _turns(self, check: OnlineCheck, before: int) -> list[tuple[int, TurnRow]]:
        with self.database.read() as connection:
            return online_checks.turns_after(connection, check, before_batch=before, limit=TURNS_PER_CHECKING)

    def _checked(self, check: OnlineCheck, row: TurnRow) -> tuple[OnlineCheck, CheckOutcome | None]:
        """Check one turn; return the check with its new counts, and the outcome.

        The outcome is None for a turn that is skipped: the check does not apply to it, it has no answer or a score
        already, or the budget of the day is used up.
        """
        answered = self._answered(check, row) if _applies_to(check, row) else None
        if answered is None:
            return check, None
        spending = JudgeSpending(self.database, check, self.now().date().isoformat())
        outcome = answered if isinstance(answered, CheckOutcome) else self._outcome(check, *answered, spending)
        if spending.stopped:
            return check, None
        has_verdict = outcome.passed is not None
        problem = None if has_verdict else (outcome.failed or outcome.reason or "")[:PROBLEM_MAX]
        scored = check.scored + has_verdict
        return replace(check, problem=problem, scored=scored), outcome

    def _answered(self, check: OnlineCheck, row: TurnRow) -> tuple[str, str] | CheckOutcome | None:
        """Return the question and the last answer of a turn, or the outcome for a turn that is too long to be read.

        Returns None for a turn without an answer, and for a turn that the check has scored already.
        """
        with self.database.read() as connection:
            if scores.find(connection, project_id=check.project_id, digests=[_digest(check, row)]):
                return None
            session = sessions.find_session(connection, project_id=check.project_id, session_key=row.session_key)
            if session is None:
                return None
            if sizes_of(connection, project_id=check.project_id, keys=[row.key])[row.key] > CHECK_BYTES:
                return CheckOutcome(None, TOO_LONG.reason)
            built = built_session(connection, session, [row.trace_id], NO_PRICES, most=2 * CHECK_BYTES)
        return next(map(_answer_of, built.turns), None)

    def _outcome(self, check: OnlineCheck, question: str, answer: str, spending: JudgeSpending) -> CheckOutcome:
        if check.kind == "judge":
            try:
                return self._judged(check, question, answer, spending)
            except (ProviderError, Invalid, NotFound) as error:
                return CheckOutcome(None, failed=str(error))
        step = CheckedAnswer(check=Check(answer=check.kind, value=check.value))
        reader = TextReader(WorkBudget(COMPARISON_STEPS_MAX))
        checker = Checker({}, partial(Sources, reader=reader), reader=reader)
        comparison = checker.compare(step, ProducedAnswer(text=answer))
        if comparison is TOO_LONG:
            return CheckOutcome(None, comparison.reason)
        return CheckOutcome(comparison.result == "passed", comparison.reason)

    def _judged(self, check: OnlineCheck, question: str, answer: str, spending: JudgeSpending) -> CheckOutcome:
        organization_id = self.owners.of_project(check.project_id)
        with self.database.read() as connection:
            model = self.models.read(connection, organization_id=organization_id, model_id=check.judge_model_id or 0)
        metered = MeteredModel(
            model,
            {"temperature": 0},
            self.providers,
            self.credentials,
            spending,
            spending,
            self.call_timeout_s,
            organization_id,
        )
        step = OpenStep(0, "answer", None, "", answer, assertion=check.value)
        (judgement,) = metered.as_judge().judge_turn(JudgedTurn("", (), question, (), (step,))).steps
        if judgement.verdict == "needs_review":
            return CheckOutcome(None, judgement.reason)
        return CheckOutcome(judgement.verdict == "passed", judgement.reason or None)

    def _store(self, check: OnlineCheck, row: TurnRow | None = None, outcome: CheckOutcome | None = None) -> bool:
        """Store the progress of the check, and a score; returns False if another worker holds it or it was removed."""
        names = ("position", "position_id", "scored", "problem")
        values = {name: getattr(check, name) for name in names}
        score = self._score(check, row, outcome) if row and outcome and outcome.passed is not None else None

        def work(connection: Connection) -> bool:
            if not online_checks.change_held(connection, check_id=check.id, until=check.held_until, **values):
                return False
            if score is not None:
                given = [(score, check.prompt_id)]
                scores.put(connection, given, project_id=check.project_id, waiting_since=new_batch_id(self.now()))
            return True

        return self.database.retrying(work)

    def _score(self, check: OnlineCheck, row: TurnRow, outcome: CheckOutcome) -> ScoreRow:
        masking = self.rules.of(check.project_id)
        return ScoreRow(
            digest=_digest(check, row),
            score_id=None,
            session_key=None,
            trace_id=row.trace_id,
            span_id=None,
            run_id=None,
            time_ns=ns_of(self.now()),
            name=check.name,
            value=float(bool(outcome.passed)),
            label=str(outcome.passed).lower(),
            comment=masking.text(outcome.reason[:COMMENT_MAX]) if outcome.reason else None,
            source="check",
        )


def _applies_to(check: OnlineCheck, row: TurnRow) -> bool:
    """Return whether a check applies to a turn: it has the check's version and model, and is in its share.

    The share depends only on the trace id: checks with equal shares check the same turns.
    """
    number = int.from_bytes(blake2b(row.trace_id, digest_size=8).digest())
    if number >= check.share * 2**64:
        return False
    facts = load(row.facts)
    return (check.version is None or check.version in facts.prompt_versions) and (
        check.model is None or check.model in facts.models
    )


def _answer_of(turn: Turn) -> tuple[str, str] | None:
    """Return the question of a turn and its last answer; None without an answer."""
    answers = [step.text for step in turn.steps if step.kind == "answer" and step.text]
    return (turn.own_words or "", answers[-1]) if answers else None


def _digest(check: OnlineCheck, row: TurnRow) -> bytes:
    return blake2b(row.trace_id, digest_size=16, key=str(check.id).encode(), person=b"check").digest()
