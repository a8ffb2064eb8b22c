"""Plays a test case's turns against a draft; the recording answers in the place of the user's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from app.chat import Message
from app.replay.conversation import messages_by_turn
from app.replay.effects import tools_of
from app.replay.fault_types import Fault
from app.replay.faults import FaultedCase, with_faults
from app.replay.fidelity import fidelity_of, files_to_send
from app.replay.findings import (
    ReplayResult,
    TurnResult,
)
from app.replay.offers import defines_tools
from app.replay.playing import Shared
from app.replay.ports import Ports
from app.replay.reader import COMPARED_MAX, Reader
from app.replay.recorded_sources import RecordedSources
from app.replay.recording import RecordedCalls
from app.replay.results import conclude, void
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
    if any(defines_tools(turn) for turn in case.played):
        return replace(result, offered_from="recording")
    return replace(result, no_tools_defined=True)


def _shared(faulted: FaultedCase, ports: Ports, budget: WorkBudget | None = None) -> Shared:
    case, reader = faulted.case, Reader(budget or WorkBudget(COMPARED_MAX))
    calls, sources = RecordedCalls(case.turns), RecordedSources(case, reader)
    total = sum(len(turn.steps) for turn in case.played)
    tools = tools_of(case, ports.draft.tools)
    shared = Shared(case, ports, tools, calls, sources, TextBackground(reader), reader, total)
    shared.faults = faulted.turns
    return shared


def converse(
    case: TestCase, ports: Ports, turn: int, faults: Sequence[Fault] = (), budget: WorkBudget | None = None
) -> None:
    """Play the turns up to `turn` without verdicts, each with the earlier ones before it.

    The comparisons spend from `budget`, by default `COMPARED_MAX` steps. Raises `Stop`, and what the model raises: the
    caller's model ends the conversation by an exception.
    """
    shared, messages = _shared(with_faults(case, faults), ports, budget), list[Message]()
    for index in range(turn + 1):
        TurnPlayer(shared, index, messages).converse()
