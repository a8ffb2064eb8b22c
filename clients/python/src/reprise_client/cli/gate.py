"""`reprise gate`: an experiment that decides if a prompt's text may go live, for people and for pipelines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import judging_option, key_option, report_file

Ratio = click.FloatRange(0, 1, min_open=True, max_open=True)


def _repeats(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return the bounds that `4:20` names; `4` means `4:4`."""
    if value is None:
        return None
    least, _, most = value.partition(":")
    if not (least.isdecimal() and (most or least).isdecimal()):
        raise click.BadParameter(f"{value!r} is no MIN:MAX, such as 4:20.")
    return int(least), int(most or least)


@click.command()
@click.option("--url", envvar="REPRISE_URL", show_envvar=True, default="", help="Base URL of the instance.")
@key_option
@click.option("--prompt", "prompt_id", type=int, help="Id; left out, the one that the file names.")
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="Candidate: the prompt in this file.")
@click.option("--commit", metavar="HASH", help="Candidate: this version. The draft without --file and --commit.")
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME=FILE|HASH|draft",
    help="One of several candidates against one baseline; repeatable.",
)
@click.option("--baseline", default="latest", show_default=True, metavar="latest|HASH|none")
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
@click.option("--max-slowdown", type=click.FloatRange(0, min_open=True), help="Most that replays may take, as a ratio.")
@click.option("--min-judge-caught", type=click.FloatRange(0, 1), help="Share of planted errors that must not pass.")
@click.option("--min-sighted", type=click.FloatRange(0, 1), help="Share of tests that must be able to show a drop.")
@click.option("--test-case", "names", multiple=True, help="Id or name; repeatable. All of the prompt's when left out.")
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
    **options: Any,
) -> None:
    """Replay a prompt's test cases against a candidate and a baseline, until it is certain which is better.

    Exit code 0: passed. 1: failed. 2: could not run. 3: inconclusive. SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the
    experiment: 2.
    """
    from reprise_client.cli import gate_report, gate_run, interruption, reports

    if sum(map(bool, (file, commit, options["candidates"]))) > 1:
        raise click.UsageError("Name candidates with one of --file, --commit and --candidate.")
    request = gate_run.GateRequest(url, api_key, prompt_id, file, commit, baseline, timeout, options)
    with interruption.interruptible() as stop:
        result = gate_run.run(request, stop)
        texts = ((junit, gate_report.junit), (json_file, gate_report.as_json), (markdown, gate_report.markdown))
        wanted = [(target, text(result)) for target, text in texts if target]
        code = reports.write(wanted, gate_report.exit_code(result))
        to_stdout = any(str(target) == "-" for target, _ in wanted)
        for line in gate_report.lines(result):
            terminal.echo(line, err=to_stdout)
        sys.exit(code)
