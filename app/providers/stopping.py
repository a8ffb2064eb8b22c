"""The end of a model's call before its answer is whole, because the rest is not needed."""

from __future__ import annotations

from collections.abc import Callable

from app.chat import Answer

LOOK_S = 0.25
"""How often a call that waits checks whether it is to stop, in seconds."""


class Stopped(Exception):
    """A call was stopped. `answer` is what the model had written by then; None if the model was not asked."""

    def __init__(self, answer: Answer | None = None) -> None:
        super().__init__("The call was stopped.")
        self.answer = answer


class CallStop:
    """Stops a call from another thread.

    The call checks it while it waits, and between two pieces of its answer.
    """

    def __init__(self) -> None:
        self._requested = False

    def request(self) -> None:
        self._requested = True

    def check(self) -> None:
        """Raise `Stopped` if the call is to stop."""
        if self._requested:
            raise Stopped

    def pause(self, sleep: Callable[[float], None], pause_s: float) -> None:
        """Pause by `sleep`, or raise `Stopped` as soon as the call is to stop."""
        while pause_s > LOOK_S and self is not NEVER:
            sleep(LOOK_S)
            pause_s -= LOOK_S
            self.check()
        sleep(pause_s)
        self.check()


NEVER = CallStop()
"""For calls that are never stopped."""
