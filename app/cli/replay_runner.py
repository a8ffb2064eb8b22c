"""Replays many test cases, a few at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from app.cli.remote import CouldNotRun, Remote

UNFINISHED = ("queued", "running")
POLL_S = (0.25, 2.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`replay` is the API's resource; None, with the reason as `problem`, when there is none."""

    test_case_id: int
    name: str
    replay: dict[str, Any] | None
    problem: str | None = None

    @property
    def status(self) -> str:
        return self.replay["status"] if self.replay and not self.problem else "error"

    @property
    def could_not_run(self) -> bool:
        return self.status in ("error", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """`timeout_s` is how long one replay may take, waiting for a worker included."""

    remote: Remote
    timeout_s: float
    judge: str | None = None
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def outcomes(self, cases: Sequence[tuple[int, str]], concurrency: int) -> Iterator[Outcome]:
        """Yield the outcome of each (id, name) as its replay ends; to close the iterator cancels the others."""
        running: dict[int, int] = {}
        with ThreadPoolExecutor(concurrency) as pool:
            open_ = {pool.submit(self._outcome, test_case_id, name, running) for test_case_id, name in cases}
            try:
                while open_:
                    done, open_ = wait(open_, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            finally:
                for future in open_:
                    future.cancel()
                for replay_id in list(running.values()) if open_ else ():
                    self._cancel(replay_id)

    def _outcome(self, test_case_id: int, name: str, running: dict[int, int]) -> Outcome:
        try:
            body = {"judgeModelName": self.judge} if self.judge else {}
            replay = self.remote.post(f"/api/v1/test-cases/{test_case_id}/replays", body)
            running[test_case_id] = replay["id"]
            return self._watched(test_case_id, name, replay["id"])
        except CouldNotRun as problem:
            return Outcome(test_case_id, name, None, problem.message)
        finally:
            running.pop(test_case_id, None)

    def _watched(self, test_case_id: int, name: str, replay_id: int) -> Outcome:
        deadline, pause_s = self.monotonic() + self.timeout_s, POLL_S[0]
        while True:
            replay = self.remote.get(f"/api/v1/replays/{replay_id}")
            if replay["status"] not in UNFINISHED:
                return Outcome(test_case_id, name, replay)
            if self.monotonic() > deadline:
                self._cancel(replay_id)
                return Outcome(test_case_id, name, replay, f"not finished within {self.timeout_s:g} s")
            self.sleep(pause_s)
            pause_s = min(pause_s * 1.5, POLL_S[1])

    def _cancel(self, replay_id: int) -> None:
        try:
            self.remote.post(f"/api/v1/replays/{replay_id}/cancel")
        except CouldNotRun:
            return  # it has ended meanwhile, or the instance is gone
