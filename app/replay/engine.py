"""Plays a test case's turns against a draft; the recording answers in the place of the user's tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from app.chat import Answer, Message, ToolDefinition
from app.replay.conversation import messages_by_turn
from app.replay.effects import tools_of
from app.replay.fault_types import Fault
from app.replay.faults import FaultedCase, with_faults
from app.replay.fidelity import fidelity_of, files_to_send
from app.replay.offered_tools import offered_from
from app.replay.ports import Ports
from app.replay.recorded_sources import RecordedSources
from app.replay.recording import RecordedCalls
from app.replay.replay_state import Shared
from app.replay.result_types import (
    ReplayResult,
    TurnResult,
)
from app.replay.results import conclude, void
from app.replay.text_reader import COMPARED_MAX, Reader
from app.replay.texts.background import TextBackground
from app.replay.turn_player import TurnPlayer
from app.replay.types import TestCase
from app.values.budget import WorkBudget

Play = Callable[[int], TurnResult]


def replay(
    case: TestCase,
    ports: Ports,
    side_by_side: Callable[[Play, Iterable[int]], Iterable[TurnResult]] = map,
    budget: WorkBudget | None = None,
    faults: Sequence[Fault] = (),
) -> ReplayResult:
    """Play all included turns, or up to the last one with faults. `ProviderError` and `OverBudget` become results.

    All comparisons of the replay spend from `budget`, by default `COMPARED_MAX` steps; the rest then needs review.
    Turns with a `recorded` history do not depend on each other, unless the test case limits the calls of a tool.
    `side_by_side` (for example the `map` of a thread pool) plays such turns, and calls the ports from its threads.
    Raises `Invalid` for a fault that fits no call of the test case.
    """
    past = messages_by_turn(case.turns, partial(files_to_send, ports=ports)) if case.history == "recorded" else []
    faulted = with_faults(case, faults)
    case = faulted.case
    fidelity = fidelity_of(case, ports)
    if not (fidelity.complete or case.accept_partial):
        return void(case, tools_of(case, ports.draft.tools), fidelity)
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
    indexes = range(len(case.played))
    shared = _shared(faulted, ports, budget)
    played: dict[int, TurnResult] = {}
    if case.history == "recorded":

        def play(index: int) -> TurnResult:
            return TurnPlayer(shared, index, [message for turn in past[:index] for message in turn]).play()

        together = map if any(tool.max_calls is not None for tool in shared.tools.values()) else side_by_side
        played = dict(zip(indexes, together(play, indexes), strict=True))
    else:
        messages: list[Message] = []
        for index in indexes:
            played[index] = TurnPlayer(shared, index, messages).play()
            if played[index].stop_reason:
                break
    result = conclude(case, played, shared.tools)
    if not ports.draft.agent_owns_tools:
        return result
    if origin := offered_from(case.played):
        return replace(result, offered_from=origin)
    return replace(result, no_tools_defined=True)


def _shared(faulted: FaultedCase, ports: Ports, budget: WorkBudget | None = None) -> Shared:
    case, reader = faulted.case, Reader(budget or WorkBudget(COMPARED_MAX))
    calls, sources = RecordedCalls(case.turns, ports.recorded_keys), RecordedSources(case, reader)
    total = sum(len(turn.steps) for turn in case.played)
    tools = tools_of(case, ports.draft.tools)
    shared = Shared(case, ports, tools, calls, sources, TextBackground(reader), reader, total)
    shared.faults = faulted.turns
    return shared


class _AtRest:
    """The model of a conversation that no request plays."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        raise AssertionError("no request plays this conversation")

    @staticmethod
    def goes_on() -> bool:
        raise AssertionError("no request plays this conversation")


class PlayedConversation:
    """The turns of a test case without verdicts, each with the earlier ones before it.

    The comparisons spend from `budget`, by default `COMPARED_MAX` steps. The caller's model ends `play` by an
    exception.
    """

    def __init__(
        self, case: TestCase, ports: Ports, faults: Sequence[Fault] = (), budget: WorkBudget | None = None
    ) -> None:
        self._shared = _shared(with_faults(case, faults), ports, budget)
        self._messages = list[Message]()
        self._turn = 0
        self._player: TurnPlayer | None = None

    def play(self, turn: int) -> None:
        """Play to the end of `turn`. Raises `Stop`, and what the model raises.

        After an exception of the model it is asked again: what it answered before is not played again.
        """
        while self._turn <= turn:
            if self._player is None:
                self._player = TurnPlayer(self._shared, self._turn, self._messages)
            self._player.converse()
            self._forget_player()
            self._turn += 1

    def rest(self) -> None:
        """Refer to no model until `go_on_with`: a conversation is kept for longer than the request of its program."""
        ports = self._shared.ports
        self.go_on_with(dataclasses.replace(ports, model=_AtRest(), goes_on=_AtRest.goes_on))

    def end(self) -> None:
        """Refer to nothing of a request any more, for a conversation that does not go on."""
        self.rest()
        self._forget_player()

    def _forget_player(self) -> None:
        """Empty the player, which refers to itself: else it would be in memory until garbage is collected."""
        if self._player:
            vars(self._player).clear()
            self._player = None

    def go_on_with(self, ports: Ports) -> None:
        """Use other ports. They have the same replies, tools and instruction, as the played turns know these."""
        self._shared.ports = ports
        if self._player:
            self._player.ports = ports

    def forget_answer(self) -> None:
        """Go back to before the last answer, which was one in words that ended no turn."""
        if self._player:
            self._player.forget_answer()
