"""Starts an experiment on an instance, follows it to its end, and cancels it when the command is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise_formats.experiment_summary import forecast_words

from reprise_client.cli import prompt_sync, remote, terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.gate_failures import read_failures
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.remote import POLL_S, UNFINISHED, Remote
from reprise_client.cli.replay import select_cases
from reprise_client.cli.versions import full_hash
from reprise_client.prompt_files import file as files

# How long an instance may be away, as while it restarts, before its experiment is given up.
PATIENCE_S = 300.0
Show = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class GateRequest:
    """The arguments of the command; `options` are those of the design, None where they are left out."""

    url: str
    api_key: str
    prompt_id: int | None
    file: Path | None
    commit: str | None
    baseline: str
    timeout_s: float
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """`experiment` is the API's resource. `problem` is the reason, in one line, for which there is no verdict.

    `failures` are some of its failing replays, by id.
    """

    prompt_id: int | None
    experiment: Mapping[str, Any] | None
    problem: str | None = None
    failures: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class ExperimentWatch:
    """Follows one experiment; `experiment` is how it was last seen."""

    instance: Remote
    timeout_s: float
    experiment: Mapping[str, Any]
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    @property
    def path(self) -> str:
        return f"/api/v1/experiments/{self.experiment['id']}"

    def follow(self, show: Show) -> None:
        """Return when it has ended. Raises `CouldNotRun` after the timeout, and when the instance stays away."""
        deadline = self.monotonic() + self.timeout_s
        pause_s, seen_at = POLL_S[0], self.monotonic()
        while True:
            try:
                self.experiment = self._read()
                seen_at = self.monotonic()
            except CouldNotRun as error:
                if not _may_return(error) or self.monotonic() - seen_at > PATIENCE_S:
                    raise
            else:
                show(self.experiment)
                if self.experiment["status"] not in UNFINISHED:
                    return
            if self.monotonic() > deadline:
                raise CouldNotRun(f"not finished within {self.timeout_s:g} s")
            self.sleep(pause_s)
            pause_s = min(pause_s * 1.5, POLL_S[1])

    def cancel(self) -> None:
        """Cancel it; what it has found so far is `experiment`."""
        self.instance.cancel(self.path)
        with suppress(CouldNotRun):
            self.experiment = self._read()

    def _read(self) -> Mapping[str, Any]:
        return self.instance.with_address(self.instance.get(self.path))


def run(request: GateRequest, stop: Interruption) -> Result:
    """Return what came of it, also when it could not run."""
    prompt_id = request.prompt_id
    try:
        file = prompt_sync.read_file(request.file)[1] if request.file else None
        if file:
            prompt_sync.warn_of_undefined(file)
        prompt_id = prompt_sync.named(request.prompt_id, file)
        instance = remote.connect(request.url, request.api_key, sleep=stop.sleep)
        path, body = f"/api/v1/prompts/{prompt_id}/experiments", _body(request, file, instance, prompt_id)
        show_forecast(instance, path, body)
        stop.check()
        started = instance.post(path, body)
        return watched(prompt_id, ExperimentWatch(instance, request.timeout_s, started, stop.sleep))
    except CouldNotRun as problem:
        return Result(prompt_id, None, _in_terms_of_the_file(problem.message, request.file))
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # an answer that is no experiment
        return Result(prompt_id, None, f"{type(error).__name__}: {error}")


def show_forecast(instance: Remote, path: str, body: Mapping[str, Any]) -> None:
    """Show on standard error what the experiment will play and cost. An earlier release has no forecast."""
    try:
        forecast = instance.post(f"{path}/forecast", body, harmless=True)
    except CouldNotRun as error:
        if error.status not in (404, 405):
            raise
        return
    terminal.echo(forecast_words(forecast), err=True)


def watched(prompt_id: int, watch: ExperimentWatch) -> Result:
    """Follow an experiment to its end, and return what came of it; one that can't be followed is cancelled."""
    try:
        with _shown() as show:
            watch.follow(show)
    except CouldNotRun as problem:
        watch.cancel()
        seen = watch.experiment if "testCases" in watch.experiment else None
        return Result(prompt_id, seen, f"Experiment {watch.experiment['id']}: {problem.message}")
    failures = read_failures(watch.instance, watch.experiment)
    return Result(prompt_id, watch.experiment, _without_verdict(watch.experiment), failures)


def _without_verdict(experiment: Mapping[str, Any]) -> str | None:
    if experiment["status"] == "finished":
        return None
    return f"Experiment {experiment['id']}: {experiment['reason'] or experiment['status']}"


def _body(request: GateRequest, file: files.PromptFile | None, instance: Remote, prompt_id: int) -> dict[str, Any]:
    options = request.options
    several = [_named(entry, instance, prompt_id) for entry in options["candidates"]]
    asked = {
        "candidate": None if several else _candidate(request, file, instance, prompt_id),
        "candidates": several,
        "languageModelNames": list(options["models"]),
    }
    baseline = _baseline(request, instance, prompt_id)
    return _without_blanks(asked) | design(options, instance, prompt_id) | {"baseline": baseline}


def design(options: Mapping[str, Any], instance: Remote, prompt_id: int) -> dict[str, Any]:
    """Return the fields of a request that all experiments have, except the ones that were left out."""
    repeats = options["repeats"]
    asked = {
        "judgeModelName": options["judge"],
        "judge": options["judging"],
        "detect": options["detect"],
        "repeats": repeats and {"min": repeats[0], "max": repeats[1]},
        "alpha": options["alpha"],
        "minPassRate": options["min_pass_rate"],
        "maxCost": options["max_cost"],
        "maxSlowdown": options["max_slowdown"],
        "minSighted": options["min_sighted"],
        "minJudgeCaught": options["min_judge_caught"],
    }
    if options["suite"]:
        asked["suite"] = options["suite"]
    if options["names"]:
        asked["testCaseIds"] = [case[0] for case in select_cases(instance, prompt_id, options["names"])]
    if options["no_reuse"]:
        asked["reuse"] = False
    return _without_blanks(asked)


def _without_blanks(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, [])}


def _candidate(request: GateRequest, file: files.PromptFile | None, instance: Remote, prompt_id: int) -> Any:
    if file:
        return files.to_overlay(file)
    return {"commitHash": full_hash(instance, prompt_id, request.commit)} if request.commit else "draft"


def _named(entry: str, instance: Remote, prompt_id: int) -> dict[str, Any]:
    """Return one of several candidates: `shorter=prompts/shorter.md`, `old=4f53a0b1` or `mine=draft`."""
    name, _, content = entry.partition("=")
    if not name or not content:
        raise CouldNotRun(f"--candidate {entry}: write NAME=FILE, NAME=HASH or NAME=draft.")
    if content == "draft":
        return {"name": name}
    if Path(content).is_file():
        file = prompt_sync.read_file(Path(content))[1]
        prompt_sync.warn_of_undefined(file)
        return {"name": name, **files.to_overlay(file)}
    return {"name": name, "commitHash": full_hash(instance, prompt_id, content)}


def _baseline(request: GateRequest, instance: Remote, prompt_id: int) -> Any:
    if request.baseline in ("latest", "none"):
        return "latest" if request.baseline == "latest" else None
    return {"commitHash": full_hash(instance, prompt_id, request.baseline)}


def _in_terms_of_the_file(message: str, file: Path | None) -> str:
    """Return a message with the file's names of fields, where the candidate is a file."""
    return files.in_names_of_the_file(message) if file else message


def _may_return(error: CouldNotRun) -> bool:
    """Return True for an instance that does not answer, or that a proxy answers for."""
    return error.status is None or error.status >= 500 or error.status == 429


@contextmanager
def _shown() -> Iterator[Show]:
    """Give a function that shows on standard error where an experiment can be watched, and how far it is."""
    shown: set[str] = set()

    def show(experiment: Mapping[str, Any]) -> None:
        if (url := experiment["url"]) not in shown:
            shown.add(url)
            terminal.echo(url, err=True)
        terminal.progress(experiment["progress"]["done"], experiment["progress"]["total"])

    yield show
    terminal.clear_progress()
