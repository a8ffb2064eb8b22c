"""Plays a probe through the gate: a scripted model repeats the recording, with the probe in the place of its step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from app.audit.figures import ProbeOutcome
from app.audit.probes import Probe
from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.replay.case_types import CaseStep, CaseTurn, CheckedAnswer, CheckedCall, TestCase
from app.replay.engine import replay
from app.replay.ports import ModelPort, Ports
from app.replay.result_types import ReplayResult

HISTORY_MAX = 10


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """What the model does in a turn: the calls that it makes at once, group by group, and its answer."""

    rounds: tuple[tuple[ToolCall, ...], ...]
    answer: str


def played_turn(steps: Iterable[CaseStep]) -> PlayedTurn:
    """Return what a model does that repeats the steps of a turn."""
    steps = list(steps)
    calls = [step for step in steps if isinstance(step, CheckedCall)]
    groups = [list(group) for _, group in groupby(calls, key=lambda step: step.batch or str(id(step)))]
    answers = [step.text for step in steps if isinstance(step, CheckedAnswer)]
    rounds = tuple(
        tuple(ToolCall(f"call_{number}_{n}", call.name, call.arguments) for n, call in enumerate(group))
        for number, group in enumerate(groups)
    )
    return PlayedTurn(rounds, answers[-1] if answers else "")


@dataclass(slots=True)
class ScriptedModel:
    """A `ModelPort` that plays its turns whatever the tools answer; turns count by the user's messages.

    It plays one turn after another: only the first call of a turn looks at all messages.
    """

    turns: Sequence[PlayedTurn]
    _turn: int = field(default=-1, init=False)
    _done: int = field(default=0, init=False)

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        if messages[-1].role == "user":
            self._turn, self._done = sum(message.role == "user" for message in messages) - 1, 0
        turn, done = self.turns[self._turn], self._done
        self._done += 1
        return Answer("", turn.rounds[done]) if done < len(turn.rounds) else Answer(turn.answer)

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        return Answer("")


def play_probe(case: TestCase, probe: Probe, ports_of: Callable[[ModelPort], Ports]) -> ProbeOutcome:
    """Return what the gate decides on a probe; `ports_of` gives the ports of a replay with the scripted model.

    Only the probed step differs from the recording, so that the verdict on it is that of the gate. Of the turns before
    it, the last `HISTORY_MAX` are played.
    """
    turns = case.turns[max(0, probe.turn - HISTORY_MAX) : probe.turn + 1]
    played = replace(case, turns=turns, included_turns=None, history="recorded")
    spoken = [played_turn(turn.steps) for turn in turns[:-1] if turn.user]
    spoken.append(played_turn(_with_probe(turns[-1], probe)))
    # The model counts the user's messages, of which some came before the recording.
    earlier = sum(message.role == "user" for turn in turns if turn.user for message in turn.earlier or ())
    spoken[:0] = [PlayedTurn((), "")] * earlier
    return outcome_of(replay(played, ports_of(ScriptedModel(spoken))), probe)


def outcome_of(result: ReplayResult, probe: Probe) -> ProbeOutcome:
    """Return the verdict on the step of a probe, which is in the last turn; a violation of the turn fails it, too."""
    turn = result.turns[-1]
    step = turn.steps[probe.step]
    if turn.violations:
        return ProbeOutcome(probe, "failed", turn.violations[0].message, "violation")
    if step.result in ("passed", "failed"):
        return ProbeOutcome(probe, "passed" if step.result == "passed" else "failed", step.reason, step.decided_by)
    return ProbeOutcome(probe, "needs_review", step.reason or turn.error, step.decided_by)


def _with_probe(turn: CaseTurn, probe: Probe) -> list[CaseStep]:
    step = turn.steps[probe.step]
    changed: CaseStep = (
        replace(step, text=probe.produced) if step.kind == "answer" else replace(step, arguments=probe.produced)
    )
    return [changed if index == probe.step else other for index, other in enumerate(turn.steps)]
