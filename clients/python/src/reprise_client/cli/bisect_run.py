"""Replays versions of a prompt until it is clear which one made a test case fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reprise_formats.formats import percent, short

from reprise_client.bisection import Found, NoChange, Play, Tally, best_guess, next_step
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay_runner import ChosenCase, ReplayOutcome, Runner

CONCURRENCY = 4
# A replay that ends with an error is played again so many times.
ERRORS_MAX = 2


@dataclass(slots=True)
class Bisection:
    """`versions` are the API's, oldest first; `replay_url` is the address of a replay's page without the id."""

    runner: Runner
    case: tuple[int, str]
    versions: Sequence[dict[str, Any]]
    replay_url: str
    tallies: list[Tally] = field(init=False)
    failing: dict[int, int] = field(default_factory=dict)
    result: Found | NoChange | None = None

    def __post_init__(self) -> None:
        self.tallies = [Tally() for _ in self.versions]

    @property
    def exit_code(self) -> int:
        return {Found: 0, NoChange: 1, type(None): 3}[type(self.result)]

    def play(self, repeats: int, max_replays: int) -> Iterator[str]:
        """Replay versions until one is found, or until so many replays have ended; yield a line for each replay."""
        while sum(tally.runs for tally in self.tallies) < max_replays:
            step = next_step(self.tallies, repeats)
            if not isinstance(step, Play):
                self.result = step
                return
            for outcome in self._outcomes(step):
                self._count(step.index, outcome)
                yield f"{self._name(step.index)}  {outcome.status}"

    def conclusion(self) -> Iterator[str]:
        """Yield what was found, with the replays that show it."""
        last = len(self.versions) - 1
        if isinstance(self.result, NoChange):
            counts = f"{self._counts(last, last + 1)}, and {self._counts(0, 1)}"
            yield f"{self.case[1]} fails no more often with the bad version than with the good one: {counts}."
            return
        change = self.result or best_guess(self.tallies)
        certain = "began to fail" if self.result else f"is not certain to have begun to fail ({percent(change.chance)})"
        yield f"{self.case[1]} {certain} with version {self._described(change.index)}."
        yield f"From it on: {self._counts(change.index, last + 1)}. Before it: {self._counts(0, change.index)}."
        if (replay_id := self._failing_from(change.index)) is not None:
            yield f"{self.replay_url}{replay_id}"

    def _outcomes(self, step: Play) -> Iterator[ReplayOutcome]:
        """Yield the outcomes that count; `CouldNotRun` when replays of a version keep ending with an error."""
        candidate = {"commitHash": self.versions[step.index]["commitHash"]}
        missing, errors = step.times, 0
        while missing:
            for outcome in self.runner.outcomes([ChosenCase(*self.case)] * missing, CONCURRENCY, candidate=candidate):
                if not outcome.could_not_run:
                    missing -= 1
                    yield outcome
                elif (errors := errors + 1) > ERRORS_MAX or self.runner.stop.is_requested:
                    problem = outcome.problem or (outcome.replay or {}).get("error") or outcome.status
                    raise CouldNotRun(f"A replay of version {self._hash(step.index)} has no result: {problem}")

    def _count(self, index: int, outcome: ReplayOutcome) -> None:
        passed = outcome.status == "passed"
        self.tallies[index] = self.tallies[index].plus(Tally(int(passed), int(not passed)))
        if not passed and outcome.replay:
            self.failing.setdefault(index, outcome.replay["id"])

    def _failing_from(self, index: int) -> int | None:
        """Return a failing replay of the version, or of the first one after it that has one."""
        return next((self.failing[later] for later in range(index, len(self.versions)) if later in self.failing), None)

    def _counts(self, start: int, end: int) -> str:
        total = Tally()
        for tally in self.tallies[start:end]:
            total = total.plus(tally)
        return f"failed {total.failed} of {total.runs}"

    def _name(self, index: int) -> str:
        return f"{self._hash(index)} {self.versions[index]['message'][:60]}"

    def _hash(self, index: int) -> str:
        return short(self.versions[index]["commitHash"])

    def _described(self, index: int) -> str:
        """Return the version's hash, message, author and day."""
        version = self.versions[index]
        author = f" by {version['author']['name']}" if version["author"] else ""
        return f"{self._hash(index)}: {version['message'] or 'no message'}{author}, {version['createdAt'][:10]}"
