"""What the turns of a replay share while they are played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from app.replay.effects import Tool, resolve
from app.replay.faults import FaultGuard, TurnFaults
from app.replay.ports import Ports
from app.replay.recorded_sources import RecordedSources
from app.replay.recording import Arguments, RecordedCalls
from app.replay.result_types import StopReason, ViolationKind
from app.replay.text_reader import Reader
from app.replay.texts.background import TextBackground
from app.replay.types import TestCase, ToolRules


class Stop(Exception):
    """The turn ends before the model has answered; the message is for people."""

    def __init__(self, reason: StopReason, message: str) -> None:
        super().__init__(message)
        self.reason: StopReason = reason


@dataclass(slots=True)
class Shared:
    """The parts of a replay that its turns share: the number of steps that are `done`, and the calls of each tool."""

    case: TestCase
    ports: Ports
    tools: dict[str, Tool]
    recorded: RecordedCalls
    sources: RecordedSources
    background: TextBackground
    reader: Reader
    total: int
    done: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    counting: Lock = field(default_factory=Lock)
    faults: Mapping[int, TurnFaults] = field(default_factory=dict)
    failed: set[Arguments] = field(default_factory=set)

    def count(self, steps: int) -> int:
        """Return how many steps are done with these ones."""
        with self.counting:
            self.done += steps
            return self.done

    def guard(self, turn: int) -> FaultGuard | None:
        """Return what watches the calls of a turn with faults; None without faults. Replayed turns share failures."""
        if turn not in self.faults:
            return None
        failed = self.failed if self.case.history == "replayed" else set()
        return FaultGuard(self.faults[turn], self.case.turns[turn].steps, failed)

    def tool(self, name: str) -> Tool:
        """Return the rules of a tool, also of one that nothing but the model knows."""
        return self.tools.get(name) or resolve(name, ToolRules(), None, None)

    def ban(self, tool: Tool) -> ViolationKind | None:
        """Count a call of the tool, and return the rule that forbids it."""
        self.calls[tool.name] += 1
        if tool.never:
            return "never"
        return "max_calls" if tool.max_calls is not None and self.calls[tool.name] > tool.max_calls else None
