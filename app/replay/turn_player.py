"""Plays one turn of a test case: the model answers, and its calls get recorded results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from msgspec.structs import replace

from app.chat import Answer, Message, Tokens, ToolCall
from app.errors import ProviderError
from app.replay.answers import folded
from app.replay.case_types import OnMissing
from app.replay.checks import Checker
from app.replay.comparison import Assertion
from app.replay.conversation import earlier_messages, result_text
from app.replay.effects import Tool
from app.replay.exchanged_writes import exchanged_writes
from app.replay.excuses import Excuses, ReadCall
from app.replay.fidelity import files_to_send
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepJudgement
from app.replay.offered_tools import Offer, offered_tools
from app.replay.open_steps import judge_open_steps
from app.replay.pairing import pair
from app.replay.recording import CallKey, Recording, Reply, arguments_key, optional_steps
from app.replay.replay_state import ReplayState, StopTurn
from app.replay.result_types import (
    FROM_ELSEWHERE,
    AnsweredBy,
    Drift,
    ProducedAnswer,
    ProducedCall,
    ProducedStep,
    StopReason,
    TurnResult,
    Violation,
    ViolationKind,
)
from app.replay.results import unplayed
from app.replay.texts.sources import Sources
from app.replay.unconfirmed_reads import Unconfirmed, may_read, unconfirmed
from app.replay.verdicts import PairedTurn, verdicts
from app.replay.violations import Attempt, lost_tools, violations_of_turn
from app.values.json import json_text

UNAVAILABLE = json.dumps({"error": "tool unavailable for these arguments"})
CALLS_PER_ANSWER = 16  # on average; bounds what a model can ask for in one turn


class _RuledCall(NamedTuple):
    """A call of the draft with the rules of its tool, and the rule that forbids it; None if it is allowed.

    A call that `is_unconfirmed` counts as a write only until a person confirms that it reads.
    """

    call: ToolCall
    key: CallKey
    tool: Tool
    ban: ViolationKind | None
    is_unconfirmed: bool


class TurnPlayer:
    """Plays one turn of a test case. The messages of the turn are appended to `messages`."""

    def __init__(self, state: ReplayState, index: int, messages: list[Message]) -> None:
        self.state = state
        self.case = state.case
        self.ports = state.ports
        self.index = index
        self.turn = state.case.turns[index]
        self.messages = messages
        self.messages += earlier_messages(index, self.turn)
        self.reported = 0
        self.rounds = 0  # answers that call tools
        self.has_begun = False
        self.first_message = len(messages)
        self.results_elsewhere: list[str] = []  # results of calls that the turn's recording did not answer
        self.sources: tuple[int, Sources] | None = None  # with the number of `results_elsewhere` that they include
        self.attempts: list[Attempt] = []
        self.produced: list[ProducedStep] = []  # the calls of `attempts`, then the answers
        self.answers: list[ProducedAnswer] = []
        self.asides: list[str] = []  # what the model wrote next to its calls
        self.called_names: list[tuple[str, ...]] = []  # the names of the tools that each answer called
        self.instruction = ""
        self.offer = Offer(())
        self.guard = state.guard(index)
        self.drift = Drift()
        self.exchanged: Mapping[int, Assertion] = {}
        self.unconfirmed = Unconfirmed()
        self.excuses = Excuses(lambda: (message.text for message in self.messages if message.role == "user"))
        self.tokens = Tokens()
        self.judge_tokens = Tokens()

    def play(self) -> TurnResult:
        """Return one verdict for each recorded step, however the turn ends."""
        if not self.turn.user:
            result = unplayed(self.turn, "the message of the user was not recorded", "no_user_text")
        else:
            result = self._played(self.turn.user)
        self._report(len(self.turn.steps), result)
        return result

    @cached_property
    def recording(self) -> Recording:
        return Recording(self.state.recorded, self.turn.steps, self.index, self.checker, self.ports.replies)

    @cached_property
    def removed(self) -> frozenset[CallKey]:
        """The calls that a person took out of the turn."""
        return frozenset(arguments_key(call) for call in self.turn.removed or ())

    @property
    def checker(self) -> Checker:
        """Compares the steps of the turn. Its sources include the results that calls have had so far."""
        sources = partial(self._sources, len(self.results_elsewhere))
        return Checker(self.state.tools, sources, self.state.reader)

    def _sources(self, count: int) -> Sources:
        if self.sources is None or self.sources[0] != count:
            sources = Sources(
                instruction=self.instruction,
                user=self.turn.user or "",
                messages=[message.text for message in self.messages[: self.first_message] if message.role != "tool"],
                results=self.results_elsewhere[:count],
                before=[self.state.sources.until(self.index)],
                background=self.state.background,
                reader=self.state.reader,
            )
            self.sources = count, sources
        return self.sources[1]

    def converse(self) -> None:
        """Play the turn without verdicts, or continue it where the model raised.

        Raises `StopTurn`, and the exceptions of the model.
        """
        if not self.has_begun:
            self.has_begun = True
            self._begin(self.turn.user or "")
        self._converse()

    def forget_answer(self) -> None:
        """Go back to before the last answer, which called no tool."""
        self.messages.pop()
        self.answers.pop()

    def _begin(self, user: str) -> None:
        selection = self.turn.placeholders or {}
        rendered = self.ports.draft.render(selection)
        self.instruction = rendered.instruction
        self.offer = offered_tools(self.turn, self.ports.draft)
        self.drift = Drift({key: selection[key] for key in rendered.ignored if key in selection}, self.offer.gone)
        self.messages.append(Message("user", user, files=files_to_send(self.turn, self.ports)))

    def _played(self, user: str) -> TurnResult:
        self._begin(user)
        try:
            self._converse()
        except StopTurn as stop:
            return self._result(str(stop), stop.reason)
        except ProviderError as problem:
            return self._result("the model's provider failed", "provider_error", str(problem))
        return self._result()

    def _converse(self) -> None:
        """Call the model until it answers in words, and the turn does not continue. Raises `StopTurn` at the limits."""
        limit = max(8, 2 * sum(step.kind == "tool_call" for step in self.turn.steps))
        while self.rounds < limit:
            if self.ports.cancelled():
                raise StopTurn("cancelled", "the replay was cancelled")
            answer = self.ports.model.answer(self.instruction, tuple(self.messages), self.offer.tools)
            self.tokens += answer.tokens
            text = answer.text or answer.refusal or ""
            self.messages.append(
                Message("assistant", text, tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
            )
            if not answer.tool_calls:
                self.answers.append(ProducedAnswer(text, self.ports.draft.nok(answer), *self._asides()))
                if not self.ports.turn_continues():
                    return
                continue
            if text.strip() and self.ports.replies is None:  # a program shows its user only what it answers
                self.asides.append(text)
            self.rounds += 1
            self._answer_calls(answer)
            self._report(min(len(self.produced), len(self.turn.steps)), None)
            if self.guard and len(self.produced) > self.guard.most_calls:
                raise StopTurn("step_limit", f"the model called more than {self.guard.most_calls} tools after a fault")
            if len(self.produced) >= limit * CALLS_PER_ANSWER:
                break
        raise StopTurn("step_limit", f"the model did not answer within {limit} calls")

    def _asides(self) -> tuple[str, str]:
        """Return the texts next to the draft's calls, without those of the recording, and these if there are others."""
        last_call = max((n for n, step in enumerate(self.turn.steps) if step.kind == "tool_call"), default=0)
        recorded = [step.text for step in self.turn.steps[:last_call] if step.kind == "answer"]
        known = set(map(folded, recorded))
        others = [text for text in self.asides if folded(text) not in known]
        return "\n\n".join(others), "\n\n".join(recorded) if others else ""

    def _answer_calls(self, answer: Answer) -> None:
        """Answer the calls of one message of the model. Raises `StopTurn` if one of them must not stay unanswered."""
        keys = self.recording.keys_of(answer.tool_calls)
        calls = [self._ruled(call, key) for call, key in zip(answer.tool_calls, keys, strict=True)]
        self.called_names.append(tuple(call.name for call in answer.tool_calls))
        first, after_fault = len(self.attempts), bool(self.guard and self.guard.failed)
        replies = self._replies(calls, first)
        for n, (made, reply) in enumerate(zip(calls, replies, strict=True), first):
            self._answer_call(made, reply, self.recording.accepted[n], after_fault=after_fault)
        for made, attempt in zip(calls, self.attempts[first:], strict=True):
            if attempt.answered_by == "none" and made.ban is None and self._if_unanswered(made.tool) == "stop":
                raise StopTurn("missing_result", f"the recording has no result for a call of {made.call.name}")

    def _ruled(self, call: ToolCall, key: CallKey) -> _RuledCall:
        tool, ban = self._rules(call, key)
        return _RuledCall(call, key, tool, ban, self._may_read(call, tool))

    def _replies(self, calls: Sequence[_RuledCall], first: int) -> list[Reply]:
        """Return the recording's replies to calls with numbers from `first`; a judge may excuse some of the others."""
        tools = ((made, replace(made.tool, effect="read") if made.is_unconfirmed else made.tool) for made in calls)
        answerable = [(made.call, tool) for made, tool in tools]
        allowed = [made.ban is None for made in calls]
        replies = self.recording.answer_calls(answerable, allowed, [made.key for made in calls])
        excused = self._excused(
            ReadCall(n, made.call, made.key)
            for n, (made, reply) in enumerate(zip(calls, replies, strict=True), first)
            if not reply.step and self._is_excusable(made)
        )
        return [excused.get(n, reply) for n, reply in enumerate(replies, first)]

    def _is_excusable(self, made: _RuledCall) -> bool:
        """Return whether a judge may excuse other arguments of a call: it is an allowed read without another answer."""
        is_allowed_read = made.tool.effect == "read" and made.ban is None and made.key not in self.removed
        return is_allowed_read and self._if_unanswered(made.tool) in ("error", "stop")

    def _if_unanswered(self, tool: Tool) -> OnMissing:
        return tool.if_unanswered(self.case.on_missing)

    def _answer_call(self, made: _RuledCall, reply: Reply, accepted: int, *, after_fault: bool) -> None:
        """Send the answer to a call to the model, and note the call. `accepted` is the set of steps that accept it."""
        call, tool = made.call, made.tool
        text, answered_by = self._answered(call, tool, reply) if made.ban is None else (UNAVAILABLE, "none")
        is_removed = made.key in self.removed
        self.attempts.append(
            Attempt(call, tool, answered_by, accepted, made.ban, is_removed, after_fault, made.is_unconfirmed)
        )
        self.produced.append(ProducedCall(call.name, call.arguments, text, tool.effect, answered_by))
        self.messages.append(Message("tool", text, tool_call_id=call.id))
        if answered_by == "fault" and self.guard:
            self.guard.note_failure(made.key)
        if answered_by in FROM_ELSEWHERE:
            self.results_elsewhere.append(text)

    def _excused(self, reads: Iterable[ReadCall]) -> Mapping[int, Reply]:
        """Return the recorded replies to reads with other arguments that a judge excuses, by the numbers of the calls.

        A program gets its answers before a judge is asked. Faults make a draft read what was not recorded.
        """
        if self.ports.judge is None or self.ports.replies is not None or self.guard:
            return {}
        return self.excuses.answer_reads([*reads], self.recording, self.checker, self._ask)

    def _rules(self, call: ToolCall, key: CallKey) -> tuple[Tool, ViolationKind | None]:
        """Return the rules for a call, and the rule that forbids it."""
        tool = self.state.tool(call.name).called_with(call.arguments)
        ban = self.state.ban(tool)
        if ban is None and self.guard:
            return self.guard.rules_for(key, tool)
        return tool, ban

    def _may_read(self, call: ToolCall, tool: Tool) -> bool:
        is_recorded = call.name in self.state.recorded.by_name
        return is_recorded and not self.guard and may_read(tool, call.arguments, self.ports.proposed.get(tool.name))

    def _answered(self, call: ToolCall, tool: Tool, reply: Reply) -> tuple[str, AnsweredBy]:
        """Return the text that answers an allowed call, and what it comes from."""
        if reply.step:
            fails = self.guard and self.guard.fails(reply.step)
            return result_text(reply.step), "fault" if fails else reply.answered_by
        match self._if_unanswered(tool):
            case "static" if tool.result is not None:
                return json_text(tool.result), "static"
            case "nearest" if step := self.recording.next_unused_call(call.name):
                return result_text(step), "nearest"
            case "simulate" if self.ports.judge:
                definition = next((offered for offered in self.offer.tools if offered.name == call.name), None)
                imagined = self.ports.judge.simulate(call, definition, self.recording.examples(call.name))
                self.judge_tokens += imagined.tokens
                return json_text(imagined.result), "simulate"
        return UNAVAILABLE, "none"

    def _result(
        self, message: str | None = None, reason: StopReason | None = None, error: str | None = None
    ) -> TurnResult:
        self.produced += self.answers
        steps, checker, optional = self.turn.steps, self.checker, self._optional()
        accepted = dict(enumerate(self.recording.accepted))
        owners = self.recording.matching.owners
        failures = {owners[step]: step for step in self.recording.failed if step in owners}
        pairs = pair(steps, self.produced, self.case.order, checker, accepted, frozenset(optional), failures)
        not_reached = None if reason in (None, "step_limit") else message
        asserted: Mapping[int, Assertion] = self.guard.faults.asserted if self.guard else {}
        if self.case.order == "effects" and not self.guard:
            asserted = self.exchanged = exchanged_writes(steps, self.attempts, pairs)
        excused = self.excuses.judgements_of(pairs)
        pairing = PairedTurn(steps, self.produced, pairs, optional, not_reached, asserted, excused)
        ask = self._ask if reason != "cancelled" else None
        self.unconfirmed = unconfirmed(steps, self.attempts, pairs)
        judged = self.unconfirmed.review(verdicts(pairing, checker, ask, self.case.assertion_value or ""))
        if self.case.order == "in_order":  # violations are of the calls that the recording answered, in any order
            pairs = pair(steps, self.produced, "any", checker, accepted, frozenset(optional))
        return TurnResult(
            self.turn.user,
            judged,
            pairing.extra,
            reason,
            self.drift,
            self.tokens,
            self.judge_tokens,
            error,
            tuple(self._violations(pairs, checker)),
            tuple(self.called_names),
        )

    def _optional(self) -> dict[int, str]:
        """Return the recorded calls that may be left out, each with the reason."""
        steps, failed = self.turn.steps, self.recording.failed
        optional = optional_steps(steps, failed, lambda call: self.state.tool(call.name).called_with(call.arguments))
        return self.guard.optional(optional) if self.guard else optional

    def _violations(self, pairs: Mapping[int, int], checker: Checker) -> list[Violation]:
        lost = []
        if not self.ports.draft.agent_owns_tools:
            offered = (tool.name for tool in self.offer.tools)
            lost = lost_tools(self.index, self.turn.steps, offered, self.state.tools)

        def explain(step: int, attempt: int) -> str:
            return checker.compare(self.turn.steps[step], self.produced[attempt]).differs

        reviewed = self.unconfirmed.attempts
        of_turn = self.index, self.turn.steps, self.attempts, pairs, self.case.order, explain, reviewed
        return lost + violations_of_turn(*of_turn)

    def _ask(self, steps: Sequence[OpenStep]) -> Mapping[int, StepJudgement]:
        """Return the judgements of the open steps of the turn, by step."""
        made = (step for step in self.produced if step.kind == "tool_call")
        calls = tuple(JudgedCall(call.name, call.arguments, str(call.result)) for call in made)
        conversation = tuple(self.messages[: self.first_message])
        turn = JudgedTurn(self.instruction, conversation, self.turn.user or "", calls, tuple(steps))
        judgement = judge_open_steps(self.ports, self.index, turn, self._may_ask)
        self.judge_tokens += judgement.tokens
        return {verdict.step: verdict for verdict in judgement.steps}

    def _may_ask(self, step: OpenStep) -> bool:
        """Return True if a judge may decide a step; with `judge` never, only one with a check that asks for a judge."""
        recorded = self.turn.steps[step.step]
        asserted = bool(step.assertion) and step.step not in self.exchanged
        asserted = asserted or (recorded.kind == "answer" and recorded.check.answer == "ai")
        return self.case.judge != "never" or asserted

    def _report(self, reported: int, result: TurnResult | None) -> None:
        self.ports.progress(self.state.count(reported - self.reported), self.state.total, result)
        self.reported = reported
