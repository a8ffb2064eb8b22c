"""The state that the turns of a replay share while they are played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from app.replay.case_types import TestCase, ToolRules
from app.replay.effects import Tool, resolve
from app.replay.faults import FaultGuard, TurnFaults
from app.replay.ports import Ports
from app.replay.recorded_sources import RecordedSources
from app.replay.recording import CallKey, RecordedCalls
from app.replay.result_types import StopReason, ViolationKind
from app.replay.text_reader import TextReader
from app.replay.texts.background import TextBackground


class StopTurn(Exception):
    """Ends a turn before the model has answered. The message is for people."""

    def __init__(self, reason: StopReason, message: str) -> None:
        super().__init__(message)
        self.reason: StopReason = reason


@dataclass(slots=True)
class ReplayState:
    """The state that the turns of a replay share. Turns may be played in several threads.

    `done` of the `total` steps were played. `calls` counts the calls of each tool. `faults` has the faults by the index
    of their turn, and `failed` the calls that have failed on purpose in a conversation that is replayed.
    """

    case: TestCase
    ports: Ports
    tools: dict[str, Tool]
    recorded: RecordedCalls
    sources: RecordedSources
    background: TextBackground
    reader: TextReader
    total: int
    done: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    _counting: Lock = field(default_factory=Lock, init=False)
    faults: Mapping[int, TurnFaults] = field(default_factory=dict)
    failed: set[CallKey] = field(default_factory=set)

    def count(self, steps: int) -> int:
        """Add to the number of played steps, and return it."""
        with self._counting:
            self.done += steps
            return self.done

    def guard(self, turn: int) -> FaultGuard | None:
        """Return the guard of a turn with faults; None for other turns.

        The turns of a conversation that is replayed share its failed calls.
        """
        if turn not in self.faults:
            return None
        failed = self.failed if self.case.history == "replayed" else set()
        return FaultGuard(self.faults[turn], self.case.turns[turn].steps, failed)

    def tool(self, name: str) -> Tool:
        """Return the rules of a tool; the default rules for a tool that the model made up."""
        return self.tools.get(name) or resolve(name, ToolRules(), None, None)

    def ban(self, tool: Tool) -> ViolationKind | None:
        """Count a call of the tool, and return the rule that forbids the call; None if it is allowed."""
        self.calls[tool.name] += 1
        if tool.never:
            return "never"
        return "max_calls" if tool.max_calls is not None and self.calls[tool.name] > tool.max_calls else None
