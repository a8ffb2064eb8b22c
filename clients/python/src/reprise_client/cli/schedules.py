"""`reprise schedules`: experiments and watches that the instance starts at fixed times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from reprise_formats.controls import visible

from reprise_client.cli import terminal
from reprise_client.cli.replay import connect, key_option, prompt_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

id_argument = click.argument("schedule_id", metavar="SCHEDULE", type=click.IntRange(min=1))


@click.group()
def schedules() -> None:
    """Experiments and watches that the instance starts at fixed times.

    An experiment compares the draft with the newest version, a watch the newest version with its own past. A
    suite-coverage reads which share of the last week's sessions a suite represents.
    """


@schedules.command("list")
@url_option
@key_option
@prompt_option
def list_schedules(url: str, api_key: str, prompt_id: int) -> None:
    """Print a line for each schedule: its id, when it is due, its suite, and the next due time."""
    for line in schedule_lines(_listed(connect(url, api_key), prompt_id)):
        terminal.echo(line)


@schedules.command()
@click.argument("cron")
@url_option
@key_option
@prompt_option
@click.option(
    "--kind",
    type=click.Choice(["experiment", "watch", "suite-coverage"]),
    help="What it starts; by default an experiment.",
)
@click.option("--timezone", default="UTC", show_default=True, help="Such as Europe/Berlin.")
@click.option("--suite", help="Play only the test cases of this suite.")
@click.option("--repeats", type=click.IntRange(min=1), help="Least replays of each test case.")
@click.option("--max-cost", "maxCost", type=click.FloatRange(min=0, min_open=True), help="US dollars of one run.")
@click.option(
    "--min-coverage",
    "minCoverage",
    type=click.FloatRange(0, 1, min_open=True),
    help="With suite-coverage: webhooks hear of a lower share, such as 0.8.",
)
def add(cron: str, url: str, api_key: str, prompt_id: int, **options: Any) -> None:
    """Make a schedule. CRON has five fields in one argument: minute, hour, day of month, month, day of week."""
    named = {name: value for name, value in options.items() if value is not None}
    made = connect(url, api_key).post(f"/api/v1/prompts/{prompt_id}/schedules", {"cron": cron, **named})
    terminal.echo(f"Schedule {made['id']} is due next at {made['nextDueAt']}.")


@schedules.command()
@id_argument
@url_option
@key_option
def pause(schedule_id: int, url: str, api_key: str) -> None:
    """Pause a schedule."""
    _change(connect(url, api_key), schedule_id, enabled=False)


@schedules.command()
@id_argument
@url_option
@key_option
def resume(schedule_id: int, url: str, api_key: str) -> None:
    """Resume a paused schedule. What was due meanwhile is not caught up."""
    _change(connect(url, api_key), schedule_id, enabled=True)


@schedules.command()
@id_argument
@url_option
@key_option
def history(schedule_id: int, url: str, api_key: str) -> None:
    """Print a line for each due time that was served, newest first, with what it has found."""
    for line in run_lines(connect(url, api_key).get(f"/api/v1/schedules/{schedule_id}/runs").listed("runs")):
        terminal.echo(line)


@schedules.command()
@id_argument
@url_option
@key_option
def watch(schedule_id: int, url: str, api_key: str) -> None:
    """Print a line for each test case of a watch: its state, and how often it passed; the dropped ones first.

    A warning follows where its answers differ from the reference.
    """
    for line in watch_lines(connect(url, api_key).get(f"/api/v1/schedules/{schedule_id}/reference")):
        terminal.echo(line)


@schedules.command("new-reference")
@id_argument
@url_option
@key_option
def new_reference(schedule_id: int, url: str, api_key: str) -> None:
    """Begin a new reference of a watch with its next run."""
    connect(url, api_key).delete(f"/api/v1/schedules/{schedule_id}/reference")
    terminal.echo("The next run begins a new reference.")


@schedules.command()
@id_argument
@url_option
@key_option
def delete(schedule_id: int, url: str, api_key: str) -> None:
    """Delete a schedule with its history; its experiments stay."""
    connect(url, api_key).delete(f"/api/v1/schedules/{schedule_id}")
    terminal.echo(f"Deleted schedule {schedule_id}")


def schedule_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each schedule."""
    for row in rows:
        due = (row["nextDueAt"] or "never") if row["enabled"] else "paused"
        cases = visible(row["suite"] or ("all suites" if row["kind"] == "suite-coverage" else "all test cases"))
        yield f"{row['id']}\t{row['kind']}\t{row['cron']} {row['timezone']}\t{cases}\t{due}"


def run_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each run of a schedule."""
    for row in rows:
        if row.get("sessions") is not None:
            yield _coverage_line(row)
            continue
        outcome = row["verdict"] or row["status"] or ("deleted" if row["experimentId"] else "not started")
        started = f"experiment {row['experimentId']}" if row["experimentId"] else visible(row["reason"] or "")
        missed = f"\t{row['missed']} missed before" if row["missed"] else ""
        watched = f"\t{row['passed']} of {row['played']} passed, {row['dropped']} dropped" if row["played"] else ""
        yield f"{row['dueAt']}\t{outcome}\t{started}{watched}{missed}"


def _coverage_line(row: Mapping[str, Any]) -> str:
    share = "no share" if row["coverage"] is None else f"{row['coverage']:.1%}"
    missed = f"\t{row['missed']} missed before" if row["missed"] else ""
    low = "too low" if row["isLow"] else "unknown" if row["coverage"] is None else "covered"
    return f"{row['dueAt']}\t{low}\t{share} of {row['sessions']:,} sessions, {row['new']} new{missed}"


def watch_lines(watch: Mapping[str, Any]) -> Iterator[str]:
    """Yield the models that the vendor reported, and a line for each test case of a watch."""
    if watch["since"] is None:
        yield "The next run begins the reference."
        return
    models = visible(", ".join(watch["models"])) or "no model"
    yield f"Reference since {watch['since']}, version {watch['commitHash'][:8]}; the vendor reported {models}"
    for case in watch["testCases"]:
        name = visible(case["name"] or f"test case {case['testCaseId']}, deleted")
        variant = f", variant {case['variant']}" if case["variant"] else ""
        before, since = (f"{case[f'{part}Passed']} of {_played(case, part)}" for part in ("reference", "since"))
        yield f"{case['state']}\t{before} before\t{since} since\t{name}{variant}"
        # Instances of earlier releases compare no answers.
        for change in case.get("changes", ()):
            yield f"warning\t{visible(change['text'])} It has not been checked whether that matters.\t{name}{variant}"


def _played(case: Mapping[str, Any], part: str) -> int:
    return int(case[f"{part}Passed"]) + int(case[f"{part}Failed"])


def _listed(instance: Remote, prompt_id: int) -> Sequence[Mapping[str, Any]]:
    return instance.get(f"/api/v1/prompts/{prompt_id}/schedules").listed("schedules")


def _change(instance: Remote, schedule_id: int, *, enabled: bool) -> None:
    changed = instance.patch(f"/api/v1/schedules/{schedule_id}", {"enabled": enabled})
    for line in schedule_lines([changed]):
        terminal.echo(line)
