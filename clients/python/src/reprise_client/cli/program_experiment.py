"""`reprise gate --repeats … -- program`: an experiment over a revision of the user's own program."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise_client.cli import git, remote
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.gate_run import ExperimentWatch, Result, design, show_forecast, watched
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.program_gate import ProgramGateRequest, runner_of
from reprise_client.cli.program_run import ProgramRunner, ReplayEnded
from reprise_client.cli.remote import Remote

# Between two questions for a replay while none awaits the program.
PAUSE_S = 0.5


def run(request: ProgramGateRequest, stop: Interruption) -> Result:
    """Play an experiment by copies of the program; returns what came of it, also when it could not run."""
    prompt_id, players = request.prompt_id, Interruption()
    try:
        instance = remote.connect(request.url, request.api_key, sleep=stop.sleep)
        runner = runner_of(request, instance, players)
        path, body = f"/api/v1/prompts/{prompt_id}/experiments", _body(request, runner.candidate, instance)
        show_forecast(instance, path, body)
        stop.check()
        started = instance.post(path, body)
    except CouldNotRun as problem:
        return Result(prompt_id, None, problem.message)
    copies = _Copies(instance, runner, f"/api/v1/experiments/{started['id']}", stop, players)
    watch = ExperimentWatch(instance, request.timeout_s, started, copies.sleep)
    with ThreadPoolExecutor(request.options["copies"]) as pool:
        for _ in range(request.options["copies"]):
            pool.submit(copies.play).add_done_callback(copies.note)
        try:
            return watched(prompt_id, watch)
        finally:
            players.request()


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies of a program that play the replays of an experiment; `players` ends them."""

    instance: Remote
    runner: ProgramRunner
    path: str
    stop: Interruption
    players: Interruption
    problems: list[CouldNotRun] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Sleep; raises `CouldNotRun` as soon as the command is to end, or a copy could not play its replay."""
        self.stop.sleep(seconds)
        if self.problems:
            raise self.problems[0]

    def play(self) -> None:
        """Play replays until the experiment has ended."""
        while not self.players.is_requested:
            if self._next() is None:
                self.players.sleep(PAUSE_S)

    def note(self, ended: Future[None]) -> None:
        """Keep the error that ended a copy before it was to end."""
        error = ended.exception()
        if error is None or self.players.is_requested:
            return
        if not isinstance(error, CouldNotRun):
            error = CouldNotRun(f"A copy of the program could not be played: {type(error).__name__}: {error}")
        self.problems.append(error)

    def _next(self) -> Mapping[str, Any] | None:
        """Play the next replay; None if none awaits the program."""
        mode = {"tools": self.runner.tools, "offline": self.runner.offline}
        started = self.instance.post_for(f"{self.path}/program-replays", mode)
        if started is not None:
            # The instance has ended a replay that the experiment does not need any more, or can't pay for.
            with suppress(ReplayEnded):
                self.runner.play(f"/api/v1/replays/{started['id']}", started)
        return started


def _body(request: ProgramGateRequest, candidate: Mapping[str, Any], instance: Remote) -> dict[str, Any]:
    sides = {"candidate": {"external": dict(candidate)}, "baseline": _baseline(request, candidate)}
    return design(request.options, instance, request.prompt_id) | sides


def _baseline(request: ProgramGateRequest, candidate: Mapping[str, Any]) -> Any:
    """Return the revision to compare with: a commit, which a branch may name, unless revisions have names here."""
    baseline = request.options["baseline"]
    if baseline in ("latest", "none"):
        return "latest" if baseline == "latest" else None
    commit = None if request.options["revision"] else git.commit_of(Path.cwd(), baseline)
    return {"external": {"name": candidate["name"], "revision": commit or baseline}}
