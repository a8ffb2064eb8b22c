"""Reads the values of a test case's recorded calls, which replays and calibrations compare texts with."""

from threading import Lock

from app.replay.case_types import TestCase
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.replay.texts.value_forms import Forms


class RecordedSources:
    """The values of the recorded calls of each turn and of the turns before it; each call is read once.

    It may be asked from many threads.
    """

    def __init__(self, case: TestCase, reader: TextReader) -> None:
        self._case = case
        self._reader = reader
        self._read: list[Sources] = []
        self._pool = Forms()
        self._reading = Lock()

    def until(self, turn: int) -> Sources:
        """Return the values of the calls of this turn and of those before it. Raises `OverBudget`."""
        with self._reading:
            while len(self._read) <= turn:
                turn_read = self._case.turns[len(self._read)]
                calls = [step for step in turn_read.steps if step.kind == "tool_call"]
                earlier = [message for message in turn_read.earlier or () if message.role == "tool"]
                self._read.append(
                    Sources(
                        arguments=[*(call.arguments for call in earlier), *(call.arguments for call in calls)],
                        results=[
                            *(message.text for message in earlier),
                            *(call.result if call.error is None else call.error for call in calls),
                        ],
                        before=self._read[-1:],
                        pool=self._pool,
                        reader=self._reader,
                    )
                )
            return self._read[turn]
