"""Reads the values of a test case's recorded calls, which replays and calibrations compare texts with."""

from collections.abc import Iterable, Mapping
from threading import Lock

from app.replay.effects import Tool
from app.replay.reader import Reader
from app.replay.texts.free_text import fixed_arguments
from app.replay.texts.sources import Sources
from app.replay.types import TestCase
from app.values.json_pointer import Pointer, PointerTree, parse_pointer


class RecordedSources:
    """The values of the recorded calls of each turn and of the turns before it; each call is read once.

    `tools` has every tool that the test case calls. It may be asked from many threads.
    """

    def __init__(self, case: TestCase, tools: Mapping[str, Tool], reader: Reader) -> None:
        self._case = case
        self._reader = reader
        self._free = {name: PointerTree(_parsed(tool.arguments)) for name, tool in tools.items()}
        self._read: list[Sources] = []
        self._reading = Lock()

    def until(self, turn: int) -> Sources:
        """Return the values of the calls of this turn and of those before it. Raises `OverBudget`."""
        with self._reading:
            while len(self._read) <= turn:
                steps = self._case.turns[len(self._read)].steps
                calls = [step for step in steps if step.kind == "tool_call"]
                self._read.append(
                    Sources(
                        arguments=[
                            list(fixed_arguments(call.arguments, self._free[call.name], self._reader.budget))
                            for call in calls
                        ],
                        results=[call.result if call.error is None else call.error for call in calls],
                        before=self._read[-1] if self._read else None,
                        reader=self._reader,
                    )
                )
            return self._read[turn]


def _parsed(pointers: Iterable[str]) -> dict[Pointer, bool]:
    return {parse_pointer(pointer): True for pointer in pointers}
