"""`reprise gate`: an experiment that decides if a prompt's text may go live, for people and for pipelines."""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reprise_client.cli import terminal
from reprise_client.cli.replay import judging_option, key_option, prompt_of_agent, report_file

if TYPE_CHECKING:
    from reprise_client.cli.gate_run import Result

ReportFiles = tuple[Path | None, Path | None, Path | None]
Ratio = click.FloatRange(0, 1, min_open=True, max_open=True)


def _repeats(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return the bounds that `4:20` names; `4` means `4:4`."""
    if value is None:
        return None
    least, _, most = value.partition(":")
    if not (least.isdecimal() and (most or least).isdecimal()):
        raise click.BadParameter(f"{value!r} is no MIN:MAX, such as 4:20.")
    return int(least), int(most or least)


_PROGRAM = (
    click.option("--program-url", help="Address that a program answers at, which gets a POST for each turn."),
    click.option("--body", help='JSON of that POST, such as {"text": "{{user}}", "thread": "{{conversation}}"}.'),
    click.option("--answer", metavar="POINTER", help="Where the program's JSON has its answer, such as /reply."),
    click.option("--stdio", is_flag=True, help="The program reads a JSON line for each turn, and prints one."),
    click.option("--revision", help="The program's revision; the commit of the working tree when left out."),
    click.option("--program-name", help="The program's name; that of the repository when left out."),
    click.option("--copies", type=click.IntRange(1, 16), default=1, show_default=True, help="Programs at once."),
    click.option(
        "--tools",
        type=click.Choice(["endpoint", "program"]),
        default="endpoint",
        show_default=True,
        help="Who answers calls of its tools: the endpoint, or the program's own tools, which ask the replay.",
    ),
    click.option("--offline", is_flag=True, help="Refuse calls of models that are no chat, such as embeddings."),
    click.option("--start-timeout", type=click.FloatRange(1), default=60, show_default=True, help="In seconds."),
    click.option("--turn-timeout", type=click.FloatRange(1), default=300, show_default=True, help="In seconds."),
    click.argument("program", nargs=-1, type=click.UNPROCESSED),
)
# What only an experiment over the prompt's own text has.
_OF_TEXTS = {
    "file": "--file",
    "commit": "--commit",
    "candidates": "--candidate",
    "models": "--model",
}
# With one of these a program's test cases are played as an experiment.
_DESIGN = ("detect", "repeats", "alpha", "min_pass_rate", "max_cost", "max_slowdown", "min_judge_caught", "min_sighted")
_OF_EXPERIMENTS = ("baseline", "no_reuse", *_DESIGN)


def _program_options(command: Any) -> Any:
    return reduce(lambda decorated, option: option(decorated), reversed(_PROGRAM), command)


@click.command()
@_program_options
@click.option("--url", envvar="REPRISE_URL", show_envvar=True, default="", help="Base URL of the instance.")
@key_option
@click.option("--prompt", "prompt_id", type=int, help="Id; left out, that of --file or of REPRISE_AGENT.")
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="Candidate: the prompt in this file.")
@click.option("--commit", metavar="HASH", help="Candidate: this version. The draft without --file and --commit.")
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME=FILE|HASH|draft",
    help="One of several candidates against one baseline; repeatable.",
)
@click.option(
    "--baseline",
    default="latest",
    show_default=True,
    metavar="latest|LABEL|HASH|REVISION|none",
    help="Version, or earlier revision of a program, to compare with.",
)
@click.option("--detect", type=Ratio, help="Share of failures that must not slip through; 0.25 when left out.")
@click.option(
    "--repeats",
    callback=_repeats,
    metavar="MIN:MAX",
    help="Replays of each test case; follows from --detect when left out.",
)
@click.option("--alpha", type=Ratio, help="Share of false alarms; 0.05 when left out.")
@click.option("--min-pass-rate", type=click.FloatRange(0, 1), help="Share of replays that have to pass.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), help="US dollars after which it ends undecided.")
@click.option("--max-slowdown", type=click.FloatRange(0, min_open=True), help="Longest time of replays, as a ratio.")
@click.option("--min-judge-caught", type=click.FloatRange(0, 1), help="Share of planted errors that must not pass.")
@click.option("--min-sighted", type=click.FloatRange(0, 1), help="Share of tests that must be able to show a drop.")
@click.option("--test-case", "names", multiple=True, help="Id or name; repeatable. All of the prompt's when left out.")
@click.option("--suite", help="Name of a suite: only its test cases.")
@click.option("--model", "models", multiple=True, help="Compare with this model, too; repeatable.")
@click.option("--judge", help="Model that judges in the place of the candidate's own.")
@judging_option
@click.option("--no-reuse", is_flag=True, help="Play again what was played in the last week.")
@click.option("--junit", type=report_file, help="Write JUnit XML there; - for standard output.")
@click.option("--json", "json_file", type=report_file, help="Write the experiment there; - for standard output.")
@click.option("--markdown", type=report_file, help="Write a comment or summary there; - for standard output.")
@click.option("--timeout", type=click.FloatRange(1), default=3600, show_default=True, help="Seconds for everything.")
def gate(
    url: str,
    api_key: str,
    prompt_id: int | None,
    file: Path | None,
    commit: str | None,
    baseline: str,
    junit: Path | None,
    json_file: Path | None,
    markdown: Path | None,
    timeout: float,
    program: tuple[str, ...],
    **options: Any,
) -> None:
    """Replay a prompt's test cases against a candidate and a baseline, until it is certain which is better.

    With a PROGRAM after --, each test case is replayed by that program, which calls models at the instance and none of
    its tools: once, or as an experiment with an option such as --repeats or --baseline. See docs/program.md.

    Exit code 0: passed. 1: failed. 2: could not run. 3: inconclusive. SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the
    experiment: 2.
    """
    from reprise_client.cli import gate_run, interruption

    files = (junit, json_file, markdown)
    if options["suite"] and options["names"]:
        raise click.UsageError("Name test cases with one of --suite and --test-case.")
    if prompt_id is None and file is None:
        prompt_id = prompt_of_agent(url, api_key)
    if program:
        options |= {"file": file, "commit": commit, "baseline": baseline}
        sys.exit(_program_code(url, api_key, prompt_id, program, timeout, options, files))
    if sum(map(bool, (file, commit, options["candidates"]))) > 1:
        raise click.UsageError("Name candidates with one of --file, --commit and --candidate.")
    request = gate_run.GateRequest(url, api_key, prompt_id, file, commit, baseline, timeout, options)
    with interruption.interruptible() as stop:
        sys.exit(_reported(gate_run.run(request, stop), files))


def _reported(result: Result, files: ReportFiles) -> int:
    """Write the files that were asked for, and show the result; returns the exit code."""
    from reprise_client.cli import gate_report, reports

    texts = (gate_report.junit, gate_report.as_json, gate_report.markdown)
    wanted = [(target, text(result)) for target, text in zip(files, texts, strict=True) if target]
    code = reports.write(wanted, gate_report.exit_code(result))
    to_stdout = any(str(target) == "-" for target, _ in wanted)
    for line in gate_report.lines(result):
        terminal.echo(line, err=to_stdout)
    return code


def _program_code(
    url: str,
    api_key: str,
    prompt_id: int | None,
    program: tuple[str, ...],
    timeout: float,
    options: dict[str, Any],
    files: ReportFiles,
) -> int:
    """Replay the test cases by the user's program; returns the exit code."""
    from reprise_client.cli import interruption, program_experiment, program_gate

    if refused := [option for name, option in _OF_TEXTS.items() if options[name]]:
        raise click.UsageError(f"{refused[0]} is not for a program.")
    if prompt_id is None:
        raise click.UsageError("Name the prompt with --prompt, or set REPRISE_AGENT to the name of an agent.")
    names, judge, judging = options["names"], options["judge"], options["judging"]
    request = program_gate.ProgramGateRequest(url, api_key, prompt_id, program, names, judge, judging, timeout, options)
    with interruption.interruptible() as stop:
        if any(_is_given(name) for name in _OF_EXPERIMENTS):
            return _reported(program_experiment.run(request, stop), files)
        return program_gate.run(request, stop, files)


def _is_given(option: str) -> bool:
    """Return whether an option of the command is written there, not left out."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT
