"""Plays a test case's turns against a draft; the recording answers in the place of the user's tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from app.chat import Answer, Message, ToolDefinition
from app.replay.case_types import TestCase
from app.replay.conversation import messages_by_turn
from app.replay.effects import tools_of
from app.replay.fault_types import Fault
from app.replay.faults import FaultedCase, with_faults
from app.replay.fidelity import fidelity_of, files_to_send
from app.replay.offered_tools import offered_from
from app.replay.ports import Ports
from app.replay.recorded_sources import RecordedSources
from app.replay.recording import RecordedCalls
from app.replay.replay_state import ReplayState
from app.replay.result_types import (
    ReplayResult,
    TurnResult,
)
from app.replay.results import conclude, void_result
from app.replay.text_reader import COMPARISON_STEPS_MAX, TextReader
from app.replay.texts.background import TextBackground
from app.replay.turn_player import TurnPlayer
from app.values.budget import WorkBudget

Play = Callable[[int], TurnResult]


def replay(
    case: TestCase,
    ports: Ports,
    side_by_side: Callable[[Play, Iterable[int]], Iterable[TurnResult]] = map,
    budget: WorkBudget | None = None,
    faults: Sequence[Fault] = (),
) -> ReplayResult:
    """Play the included turns of a test case, with `faults` up to the last turn with a fault.

    `side_by_side`, such as the `map` of a thread pool, plays turns that do not depend on each other, and calls the
    ports from its threads. These are the turns of a case with the history `recorded` that limits the calls of no tool.

    The comparisons of the replay spend from `budget`, by default `COMPARISON_STEPS_MAX` steps. Steps that are not
    compared, because the budget is used up, need review. A `ProviderError` ends a turn, with an error in its result.
    Raises `Invalid` for a fault that fits no call of the test case.
    """
    past = messages_by_turn(case.turns, partial(files_to_send, ports=ports)) if case.history == "recorded" else []
    faulted = with_faults(case, faults)
    case = faulted.case
    fidelity = fidelity_of(case, ports)
    if not (fidelity.complete or case.accept_partial):
        return void_result(case, tools_of(case, ports.draft.tools), fidelity)
    played = _played(faulted, past, ports, side_by_side, budget)
    return replace(played, fidelity=fidelity, accepted_partial=not fidelity.complete)


def _played(
    faulted: FaultedCase,
    past: Sequence[Sequence[Message]],
    ports: Ports,
    side_by_side: Callable[[Play, Iterable[int]], Iterable[TurnResult]],
    budget: WorkBudget | None,
) -> ReplayResult:
    case = faulted.case
    indexes = range(len(case.played_turns))
    state = _new_state(faulted, ports, budget)
    played: dict[int, TurnResult] = {}
    if case.history == "recorded":

        def play(index: int) -> TurnResult:
            return TurnPlayer(state, index, [message for turn in past[:index] for message in turn]).play()

        together = map if any(tool.max_calls is not None for tool in state.tools.values()) else side_by_side
        played = dict(zip(indexes, together(play, indexes), strict=True))
    else:
        messages: list[Message] = []
        for index in indexes:
            played[index] = TurnPlayer(state, index, messages).play()
            if played[index].stop_reason:
                break
    result = conclude(case, played, state.tools)
    if not ports.draft.agent_owns_tools:
        return result
    if origin := offered_from(case.played_turns):
        return replace(result, offered_from=origin)
    return replace(result, no_tools_defined=True)


def _new_state(faulted: FaultedCase, ports: Ports, budget: WorkBudget | None = None) -> ReplayState:
    case, reader = faulted.case, TextReader(budget or WorkBudget(COMPARISON_STEPS_MAX))
    calls, sources = RecordedCalls(case.turns, ports.recorded_keys), RecordedSources(case, reader)
    total = sum(len(turn.steps) for turn in case.played_turns)
    tools = tools_of(case, ports.draft.tools)
    state = ReplayState(case, ports, tools, calls, sources, TextBackground(reader), reader, total)
    state.faults = faulted.turns
    return state


class _NoModel:
    """The model of a conversation while no request plays it."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        raise AssertionError("no request plays this conversation")

    @staticmethod
    def turn_continues() -> bool:
        raise AssertionError("no request plays this conversation")


class PlayedConversation:
    """Plays the turns of a test case without verdicts, for a program that asks for one answer in each request.

    The caller's model raises an exception when it has no further answer: this ends `play`. The comparisons spend from
    `budget`, by default `COMPARISON_STEPS_MAX` steps.
    """

    def __init__(
        self, case: TestCase, ports: Ports, faults: Sequence[Fault] = (), budget: WorkBudget | None = None
    ) -> None:
        self._state = _new_state(with_faults(case, faults), ports, budget)
        self._messages = list[Message]()
        self._turn = 0
        self._player: TurnPlayer | None = None

    def play(self, turn: int) -> None:
        """Play to the end of the turn with index `turn`. Raises `StopTurn`, and the exceptions of the model.

        After an exception, the next call continues where the model raised.
        """
        while self._turn <= turn:
            if self._player is None:
                self._player = TurnPlayer(self._state, self._turn, self._messages)
            self._player.converse()
            self._forget_player()
            self._turn += 1

    def detach(self) -> None:
        """Drop the model of the request, so that the conversation can be kept until the next request attaches one."""
        ports = self._state.ports
        self.attach(dataclasses.replace(ports, model=_NoModel(), turn_continues=_NoModel.turn_continues))

    def close(self) -> None:
        """Drop all that belongs to a request. The conversation can't be continued."""
        self.detach()
        self._forget_player()

    def _forget_player(self) -> None:
        """Drop the player. It refers to itself, so it is emptied: otherwise only garbage collection would free it."""
        if self._player:
            vars(self._player).clear()
            self._player = None

    def attach(self, ports: Ports) -> None:
        """Use the ports of another request, which have the same replies, tools and instruction as the ones before."""
        self._state.ports = ports
        if self._player:
            self._player.ports = ports

    def forget_answer(self) -> None:
        """Go back to before the last answer, which called no tool and did not end its turn."""
        if self._player:
            self._player.forget_answer()
