"""Remembers verdicts on texts, so that the same texts are not judged twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from msgspec import to_builtins
from sqlalchemy import Connection

from app.chat import Message
from app.database.transactions import Database
from app.models import known_verdicts
from app.models.known_verdicts import KnownScope, KnownVerdict
from app.models.language_models import LanguageModel
from app.models.replays import ReplayRow
from app.replay.documents import load
from app.replay.judge_types import JudgedTurn, JudgeFinding, OpenStep, StepJudgement, TurnJudgement
from app.replay.verdict_digests import MessageDigests, TurnDigests
from app.services.masking.rules import MessageMasking
from app.values.storable import decode_json

JUDGED_FOR = timedelta(days=30)
"""A judge's verdict applies again for this time, a person's always."""


def scope_of(row: ReplayRow) -> KnownScope:
    return KnownScope(row.project_id, row.prompt_id, row.test_case_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVerdicts:
    """The engine's `EarlierVerdictsPort` for one replay; `judge` is None where no model may judge.

    `masking()` returns the project's rules, None without any. A text that they change is not remembered, as a digest
    would reveal it to who guesses it.
    """

    database: Database
    scope: KnownScope
    now: datetime
    judge: LanguageModel | None
    masking: Callable[[], MessageMasking | None]
    # Verdicts that are stored with the replay's result; turns may be played by several threads.
    new: list[KnownVerdict] = field(default_factory=list, init=False)
    _messages: MessageDigests = field(default_factory=MessageDigests, init=False)
    # By the ids of messages, which are kept so that no others get them: whether the rules leave them as they are.
    _unchanged: dict[int, tuple[Message, bool]] = field(default_factory=dict, init=False)
    # The digests of each turn that was recalled, by its index: masking and hashing a long conversation is slow.
    _recalled: dict[int, dict[int, tuple[str, ...]]] = field(default_factory=dict, init=False)

    def recall(self, index: int, turn: JudgedTurn) -> dict[int, StepJudgement]:
        """Return the stored verdict on each open step of turn `index`, by step; without one, only the step's digest."""
        digests = self._recalled[index] = self._digests(index, turn)
        wanted = [digest for of_step in digests.values() for digest in of_step]
        if not wanted:
            return {}
        with self.database.read() as connection:
            known = known_verdicts.find_known(connection, self.scope, wanted, judged_since=self.now - JUDGED_FOR)
        return {
            step: _judgement(step, of_step[0], next((known[digest] for digest in of_step if digest in known), None))
            for step, of_step in digests.items()
        }

    def remember(self, index: int, judgement: TurnJudgement) -> None:
        """Keep the judge's verdicts on turn `index`, which was recalled before, until `store` is called."""
        digests = self._recalled[index]
        for step in judgement.steps:
            of_judge = digests.get(step.step, ())[1:]
            if of_judge and step.verdict != "needs_review":
                findings = to_builtins(step.findings)
                self.new.append(KnownVerdict(of_judge[0], "judge", step.verdict, findings, self.now))

    def store(self, connection: Connection) -> None:
        """Store the new verdicts, in the transaction that stores the replay's result."""
        put_known(connection, self.scope, self.new, self.now)

    def _digests(self, index: int, turn: JudgedTurn) -> dict[int, tuple[str, ...]]:
        """Return the digests of the open steps: that of persons, and that of the judge if there is one."""
        masking = self.masking()
        if masking and not (all(_is_unchanged(masking, turn)) and self._are_unchanged(masking, turn.conversation)):
            return {}
        model = self.judge
        judges = (f"{model.vendor} {model.name} {model.base_url}",) if model else ()
        digests = TurnDigests(index, turn, self._messages)
        return {
            step.step: (digests.of_person(step), *(digests.of_judge(judge, step) for judge in judges))
            for step in turn.steps
            if not masking or all(_is_unchanged_step(masking, step))
        }

    def _are_unchanged(self, masking: MessageMasking, conversation: Sequence[Message]) -> bool:
        """Return whether the rules change no message. Each message of a replay is masked once."""
        for message in conversation:
            if id(message) not in self._unchanged:
                self._unchanged[id(message)] = message, _is_unchanged_message(masking, message)
            if not self._unchanged[id(message)][1]:
                return False
        return True


def put_known(connection: Connection, scope: KnownScope, verdicts: list[KnownVerdict], now: datetime) -> None:
    known_verdicts.put_known(connection, scope, verdicts, judged_since=now - JUDGED_FOR)


def _judgement(step: int, digest: str, known: KnownVerdict | None) -> StepJudgement:
    if known is None:
        return StepJudgement(step, "needs_review", digest=digest)
    findings = tuple(load(finding, JudgeFinding) for finding in known.findings)
    reasons = " ".join(finding.why for finding in findings if finding.matters)
    by = "a person" if known.decided_by == "person" else "the judge"
    on = known.created_at.date().isoformat()
    verb = "accepted" if known.verdict == "passed" else "refused"
    reason = f"{by} {verb} this text on {on}" + (f": {reasons}" if reasons else "")
    return StepJudgement(step, known.verdict, findings, reason, is_earlier=True, digest=digest)


def _is_unchanged(masking: MessageMasking, turn: JudgedTurn) -> Iterator[bool]:
    yield masking.instruction(turn.instruction) == turn.instruction
    yield masking.question(turn.user) == turn.user
    for call in turn.calls:
        yield masking.arguments(call.arguments) == call.arguments
        yield masking.result(call.result) == call.result


def _is_unchanged_message(masking: MessageMasking, message: Message) -> bool:
    mask = masking.answer if message.role == "assistant" else masking.question
    return mask(message.text) == message.text and all(
        masking.arguments(call.arguments) == call.arguments for call in message.tool_calls
    )


def _is_unchanged_step(masking: MessageMasking, step: OpenStep) -> Iterator[bool]:
    for text in (step.recorded, step.produced):
        if step.kind == "arguments":
            arguments: Mapping[str, Any] = decode_json(text)
            yield masking.arguments(arguments) == arguments
        else:
            yield masking.answer(text) == text
    yield masking.other(step.assertion) == step.assertion
    yield masking.result(step.result) == step.result
