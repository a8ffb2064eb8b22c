"""`reprise gate … -- program`: the test cases of a prompt, replayed by the user's own program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise_client.cli import git, program_asking, remote, replay_report, reports, terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.program_run import ProgramRunner
from reprise_client.cli.remote import Remote
from reprise_client.cli.replay import played_cases
from reprise_client.cli.replay_runner import ReplayOutcome
from reprise_client.cli.suite import case_names

UNCOMMITTED = "uncommitted"
COLOURS = {"passed": "green", "failed": "red", "needs_review": "yellow"}


@dataclass(frozen=True, slots=True)
class ProgramGateRequest:
    """The arguments of the command; `options` are those of programs, and `names` the test cases."""

    url: str
    api_key: str
    prompt_id: int
    command: Sequence[str]
    names: Sequence[str]
    judge: str | None
    judging: str | None
    timeout_s: float
    options: Mapping[str, Any]


def run(request: ProgramGateRequest, stop: Interruption, files: tuple[Path | None, Path | None, Path | None]) -> int:
    """Replay all test cases, write the files that were asked for, and return the exit code."""
    try:
        outcomes = _outcomes(request, stop, err=any(str(file) == "-" for file in files))
    except CouldNotRun as problem:
        outcomes = [ReplayOutcome(None, "reprise gate", None, problem.message)]
        terminal.echo(f"COULD NOT RUN  {problem.message}", err=True)
    texts = (replay_report.junit, replay_report.as_json, replay_report.markdown)
    pairs = zip(files, texts, strict=True)
    wanted = [(file, text(request.prompt_id, outcomes)) for file, text in pairs if file is not None]
    return reports.write(wanted, replay_report.exit_code(outcomes))


def _outcomes(request: ProgramGateRequest, stop: Interruption, *, err: bool) -> list[ReplayOutcome]:
    instance = remote.connect(request.url, request.api_key, sleep=stop.sleep)
    runner = runner_of(request, instance, stop, uncommitted=True)
    suite = request.options["suite"]
    names = case_names(instance, request.prompt_id, suite) if suite else request.names
    cases = played_cases(instance, request.prompt_id, names, None)
    outcomes = []
    for outcome in runner.outcomes(cases, request.options["copies"]):
        outcomes.append(outcome)
        terminal.echo(replay_report.headline(outcome), err=err, fg=COLOURS.get(outcome.status, "magenta"))
        for line in replay_report.details(outcome):
            terminal.echo(line, err=err)
    order = {(case.test_case_id, case.name): index for index, case in enumerate(cases)}
    return sorted(outcomes, key=lambda outcome: order[outcome.test_case_id or 0, outcome.name])


def runner_of(
    request: ProgramGateRequest, instance: Remote, stop: Interruption, *, uncommitted: bool = False
) -> ProgramRunner:
    """Return what plays replays by the program, until `stop`. Raises `CouldNotRun` for options that contradict.

    With `uncommitted`, a folder without a commit is a revision with changes: its results are never a baseline.
    """
    options = request.options
    return ProgramRunner(
        remote=instance,
        command=request.command,
        candidate=_candidate(options, uncommitted=uncommitted),
        asking=_asking(options, stop),
        stop=stop,
        timeout_s=request.timeout_s,
        offline=options["offline"],
        tools=options["tools"],
        judge=request.judge,
        judging=request.judging,
    )


def _candidate(options: Mapping[str, Any], *, uncommitted: bool) -> dict[str, Any]:
    """Return the program's name and revision, by default those of the working tree."""
    tree = git.working_tree(Path.cwd())
    revision = options["revision"] or (tree and tree.commit)
    if not revision and not uncommitted:
        raise CouldNotRun("Name the program's revision with --revision: there is no commit here.")
    name = options["program_name"] or (tree.name if tree else Path.cwd().name) or "program"
    if not revision:
        return {"name": name, "revision": UNCOMMITTED, "dirty": True}
    return {"name": name, "revision": revision, "dirty": bool(tree and tree.is_dirty and not options["revision"])}


def _asking(options: Mapping[str, Any], stop: Interruption) -> program_asking.Asking:
    url = options["program_url"]
    if bool(url) == options["stdio"]:
        raise CouldNotRun("Name how the program is asked: --program-url with its address, or --stdio.")
    try:
        body = json.loads(options["body"] or program_asking.DEFAULT_BODY)
    except ValueError as error:
        raise CouldNotRun(f"--body is no JSON: {error}") from error
    if url and (problem := program_asking.problem_of(url)):
        raise CouldNotRun(f"--program-url {url}: {problem}")
    answer = options["answer"]
    if answer and not answer.startswith("/"):
        raise CouldNotRun(f"--answer {answer}: a JSON pointer begins with a slash, such as /reply.")
    return program_asking.Asking(url, body, answer, options["start_timeout"], options["turn_timeout"], stop.sleep)
