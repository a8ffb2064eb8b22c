"""Replays test cases on an instance, several at once, and waits for their ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.remote import LOOK_S, Remote, judge_fields, wait_for_end


class ChosenCase(NamedTuple):
    """A test case to play; `failing` has the fields `variant` or `faults` of the request."""

    test_case_id: int
    name: str
    failing: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """`replay` is the API's resource; None, with the reason as `problem`, when there is none.

    `test_case_id` is None where it ended before any test case was known.
    """

    test_case_id: int | None
    name: str
    replay: dict[str, Any] | None
    problem: str | None = None

    @property
    def status(self) -> str:
        return self.replay["status"] if self.replay and not self.problem else "error"

    @property
    def could_not_run(self) -> bool:
        """Whether the replay shows nothing about the draft."""
        return self.status in ("void", "error", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """`timeout_s` is how long one replay may last, waiting for a worker included."""

    remote: Remote
    timeout_s: float
    judge: str | None = None
    judging: str | None = None
    stop: Interruption = field(default_factory=Interruption)
    monotonic: Callable[[], float] = time.monotonic

    def outcomes(
        self, cases: Sequence[ChosenCase], concurrency: int, *, candidate: Any = "draft"
    ) -> Iterator[ReplayOutcome]:
        """Yield the outcome of each test case as its replay ends; to close the iterator stops the runner.

        Once it is stopped, no replay starts, and each that has started is cancelled by the thread that follows it.
        """
        with ThreadPoolExecutor(concurrency) as pool:
            waiting = {pool.submit(self._outcome, case, candidate) for case in cases}
            try:
                while waiting:
                    # With a timeout, as a longer wait can't be interrupted on Windows.
                    ended, waiting = wait(waiting, LOOK_S, FIRST_COMPLETED)
                    for future in ended:
                        yield future.result()
            finally:
                if waiting:
                    self.stop.request()

    def _outcome(self, case: ChosenCase, candidate: Any) -> ReplayOutcome:
        test_case_id, name, failing = case
        body: dict[str, Any] = {**judge_fields(self.judge, self.judging), **failing}
        # An instance of an older release knows no other candidate than the draft, nor the word.
        body |= {} if candidate == "draft" else {"candidate": candidate}
        try:
            self.stop.check()
            replay_id = self.remote.post(f"/api/v1/test-cases/{test_case_id}/replays", body)["id"]
        except CouldNotRun as problem:
            return ReplayOutcome(test_case_id, name, None, problem.message)
        return self._watched(test_case_id, name, f"/api/v1/replays/{replay_id}")

    def _watched(self, test_case_id: int, name: str, path: str) -> ReplayOutcome:
        """Return the outcome when the replay has ended, or as it was last seen if that can't be waited for."""
        seen: list[dict[str, Any] | None] = [None]
        try:
            wait_for_end(self.remote, path, self.timeout_s, self.stop.sleep, self.monotonic, seen.append)
        except CouldNotRun as problem:
            return ReplayOutcome(test_case_id, name, seen[-1], problem.message)
        return ReplayOutcome(test_case_id, name, seen[-1])
