"""Plays one turn of a test case: the model answers, and its calls get recorded results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial

from msgspec.structs import replace

from app.chat import Answer, Message, Tokens, ToolCall
from app.errors import ProviderError
from app.replay.checks import Checker
from app.replay.comparison import Assertion
from app.replay.conversation import earlier_messages, result_text
from app.replay.effects import Tool
from app.replay.exchanged_writes import exchanged_writes
from app.replay.excuses import Excuses, ReadCall
from app.replay.fidelity import files_to_send
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepJudgement
from app.replay.offered_tools import Offer, offered_tools
from app.replay.open_steps import decide
from app.replay.pairing import pair
from app.replay.recording import Arguments, Recording, Reply, arguments_key, optional_steps
from app.replay.replay_state import Shared, Stop
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
from app.replay.verdicts import Pairing, verdicts
from app.replay.violations import Attempt, lost_tools, violations_of_turn
from app.values.json import json_text

UNAVAILABLE = json.dumps({"error": "tool unavailable for these arguments"})
CALLS_PER_ANSWER = 16  # on average; bounds what a model can ask for in one turn


class TurnPlayer:
    """Plays one turn, and appends to `messages`."""

    def __init__(self, shared: Shared, index: int, messages: list[Message]) -> None:
        self.shared = shared
        self.case = shared.case
        self.ports = shared.ports
        self.index = index
        self.turn = shared.case.turns[index]
        self.messages = messages
        self.messages += earlier_messages(index, self.turn)
        self.done = 0
        self.asked = 0  # answers in words end a turn, or are those of one of a program's several models
        self.begun = False
        self.begin = len(messages)
        self.given: list[str] = []  # results that are none of the turn's recording
        self.sources: tuple[int, Sources] | None = None  # with the number of `given` that are among them
        self.attempts: list[Attempt] = []
        self.produced: list[ProducedStep] = []  # the calls in the order of `attempts`, at the end also the answers
        self.answers: list[ProducedAnswer] = []
        self.called: list[tuple[str, ...]] = []  # the names of the calls of each answer
        self.instruction = ""
        self.offer = Offer(())
        self.guard = shared.guard(index)
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
        return Recording(self.shared.recorded, self.turn.steps, self.index, self.checker, self.ports.replies)

    @cached_property
    def removed(self) -> frozenset[Arguments]:
        """The calls that a person took out of the turn."""
        return frozenset(arguments_key(call) for call in self.turn.removed or ())

    @property
    def checker(self) -> Checker:
        """Compares the steps of the turn, with the values that are known by now."""
        sources = partial(self._sources, len(self.given))
        return Checker(self.shared.tools, sources, self.shared.reader)

    def _sources(self, given: int) -> Sources:
        if self.sources is None or self.sources[0] != given:
            sources = Sources(
                instruction=self.instruction,
                user=self.turn.user or "",
                messages=[message.text for message in self.messages[: self.begin] if message.role != "tool"],
                results=self.given[:given],
                before=[self.shared.sources.until(self.index)],
                background=self.shared.background,
                reader=self.shared.reader,
            )
            self.sources = given, sources
        return self.sources[1]

    def converse(self) -> None:
        """Play the turn without verdicts, or go on where the model raised. Raises `Stop`, and what the model raises."""
        if not self.begun:
            self.begun = True
            self._begin(self.turn.user or "")
        self._converse()

    def forget_answer(self) -> None:
        """Go back to before the last answer, which was one in words."""
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
        except Stop as stop:
            return self._result(str(stop), stop.reason)
        except ProviderError as problem:
            return self._result("the model's provider failed", "provider_error", str(problem))
        return self._result()

    def _converse(self) -> None:
        """Call the model until it answers without calling a tool, and no other call follows. Raises `Stop` before."""
        limit = max(8, 2 * sum(step.kind == "tool_call" for step in self.turn.steps))
        while self.asked < limit:
            if self.ports.cancelled():
                raise Stop("cancelled", "the replay was cancelled")
            answer = self.ports.model.answer(self.instruction, tuple(self.messages), self.offer.tools)
            self.tokens += answer.tokens
            text = answer.text or answer.refusal or ""
            self.messages.append(
                Message("assistant", text, tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
            )
            if not answer.tool_calls:
                self.answers.append(ProducedAnswer(text, self.ports.draft.nok(answer)))
                if not self.ports.goes_on():
                    return
                continue
            self.asked += 1
            self._answer_calls(answer)
            self._report(min(len(self.produced), len(self.turn.steps)), None)
            if self.guard and len(self.produced) > self.guard.most_calls:
                raise Stop("step_limit", f"the model called more than {self.guard.most_calls} tools after a fault")
            if len(self.produced) >= limit * CALLS_PER_ANSWER:
                break
        raise Stop("step_limit", f"the model did not answer within {limit} calls")

    def _answer_calls(self, answer: Answer) -> None:
        keys = self.recording.keys_of(answer.tool_calls)
        ruled = [self._rules(call, key) for call, key in zip(answer.tool_calls, keys, strict=True)]
        tools, banned = [tool for tool, _ in ruled], [ban for _, ban in ruled]
        self.called.append(tuple(call.name for call in answer.tool_calls))
        first = len(self.attempts)
        pairs = list(zip(answer.tool_calls, tools, strict=True))
        unconfirmed = [self._may_read(call, tool) for call, tool in pairs]
        answered = [
            (call, replace(tool, effect="read") if reads else tool)
            for (call, tool), reads in zip(pairs, unconfirmed, strict=True)
        ]
        replies = self.recording.look_up(answered, [ban is None for ban in banned], keys)
        excused = self._excused(
            ReadCall(n, call, key)
            for n, ((call, tool), reply, ban, key) in enumerate(zip(pairs, replies, banned, keys, strict=True), first)
            if tool.effect == "read"
            and not reply.step
            and ban is None
            and key not in self.removed
            and tool.missing(self.case.on_missing) in ("error", "stop")
        )
        unknown, after_fault = None, bool(self.guard and self.guard.failed)
        for n, ((call, tool), reply, ban) in enumerate(zip(pairs, replies, banned, strict=True), first):
            reply = excused.get(n, reply)
            text, answered_by = self._answered(call, tool, reply) if ban is None else (UNAVAILABLE, "none")
            key = keys[n - first]
            accepted = self.recording.accepted[n]
            reads = unconfirmed[n - first]
            self.attempts.append(
                Attempt(call, tool, answered_by, accepted, ban, key in self.removed, after_fault, reads)
            )
            self.produced.append(ProducedCall(call.name, call.arguments, text, tool.effect, answered_by))
            self.messages.append(Message("tool", text, tool_call_id=call.id))
            if answered_by == "fault" and self.guard:
                self.guard.note(key)
            if answered_by in FROM_ELSEWHERE:
                self.given.append(text)
            if answered_by == "none" and ban is None and tool.missing(self.case.on_missing) == "stop":
                unknown = unknown or call.name
        if unknown is not None:
            raise Stop("missing_result", f"the recording has no result for a call of {unknown}")

    def _excused(self, reads: Iterable[ReadCall]) -> Mapping[int, Reply]:
        """Return the recorded answers of reads with other arguments that a judge excuses, by their numbers.

        A program gets its answers before a judge is asked. Faults make a draft read what was not recorded.
        """
        if self.ports.judge is None or self.ports.replies is not None or self.guard:
            return {}
        return self.excuses.look_up([*reads], self.recording, self.checker, self._ask)

    def _rules(self, call: ToolCall, key: Arguments) -> tuple[Tool, ViolationKind | None]:
        """Return the rules for a call, and the rule that forbids it."""
        tool = self.shared.tool(call.name).called_with(call.arguments)
        ban = self.shared.ban(tool)
        if ban is None and self.guard:
            return self.guard.rules(key, tool)
        return tool, ban

    def _may_read(self, call: ToolCall, tool: Tool) -> bool:
        is_recorded = call.name in self.shared.recorded.by_name
        return is_recorded and not self.guard and may_read(tool, call.arguments, self.ports.proposed.get(tool.name))

    def _answered(self, call: ToolCall, tool: Tool, reply: Reply) -> tuple[str, AnsweredBy]:
        """Return the text that answers a call, and where it is from."""
        if reply.step:
            fails = self.guard and self.guard.fails(reply.step)
            return result_text(reply.step), "fault" if fails else reply.answered_by
        match tool.missing(self.case.on_missing):
            case "static" if tool.result is not None:
                return json_text(tool.result), "static"
            case "nearest" if step := self.recording.nearest(call.name):
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
        excused = self.excuses.of(pairs)
        pairing = Pairing(steps, self.produced, pairs, optional, not_reached, asserted, excused)
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
            tuple(self.called),
        )

    def _optional(self) -> dict[int, str]:
        """Return the recorded calls that may be left out, each with the reason."""
        steps, failed = self.turn.steps, self.recording.failed
        optional = optional_steps(steps, failed, lambda call: self.shared.tool(call.name).called_with(call.arguments))
        return self.guard.optional(optional) if self.guard else optional

    def _violations(self, pairs: Mapping[int, int], checker: Checker) -> list[Violation]:
        lost = []
        if not self.ports.draft.agent_owns_tools:
            offered = (tool.name for tool in self.offer.tools)
            lost = lost_tools(self.index, self.turn.steps, offered, self.shared.tools)

        def explain(step: int, attempt: int) -> str:
            return checker.compare(self.turn.steps[step], self.produced[attempt]).differs

        reviewed = self.unconfirmed.attempts
        of_turn = self.index, self.turn.steps, self.attempts, pairs, self.case.order, explain, reviewed
        return lost + violations_of_turn(*of_turn)

    def _ask(self, steps: Sequence[OpenStep]) -> Mapping[int, StepJudgement]:
        """Return what is known of the open steps of the turn, or what the judge decides, by step."""
        called = (step for step in self.produced if step.kind == "tool_call")
        calls = tuple(JudgedCall(call.name, call.arguments, str(call.result)) for call in called)
        conversation = tuple(self.messages[: self.begin])
        turn = JudgedTurn(self.instruction, conversation, self.turn.user or "", calls, tuple(steps))
        judgement = decide(self.ports, self.index, turn, self._may_ask)
        self.judge_tokens += judgement.tokens
        return {verdict.step: verdict for verdict in judgement.steps}

    def _may_ask(self, step: OpenStep) -> bool:
        """Return True if a judge may decide a step; with `judge` never, only one with a check that asks for a judge."""
        recorded = self.turn.steps[step.step]
        asserted = bool(step.assertion) and step.step not in self.exchanged
        asserted = asserted or (recorded.kind == "answer" and recorded.check.answer == "ai")
        return self.case.judge != "never" or asserted

    def _report(self, done: int, result: TurnResult | None) -> None:
        self.ports.progress(self.shared.count(done - self.done), self.shared.total, result)
        self.done = done
