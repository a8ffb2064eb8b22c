"""`reprise suite`: a suite of test cases that is chosen from recorded sessions, and what it covers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from reprise_formats.controls import visible
from reprise_formats.formats import usd

from reprise_client.cli import reports, terminal, text_input
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import connect, key_option, prompt_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

ACCEPTED_AT_ONCE = 20
"""Sessions of one request."""
CALIBRATED_AT_ONCE = 20
FORMAT = "reprise-suite-1"
"""The format of an exported suite."""
name_argument = click.argument("name")
json_option = click.option("--json", "as_json", is_flag=True, help="The answer of the API.")
since_option = click.option("--since", metavar="TIME", help="Such as 2026-11-22T00:00:00Z; 30 days ago by default.")
until_option = click.option("--until", metavar="TIME", help="Now by default.")
size_option = click.option("--size", type=click.IntRange(1, 100), default=12, show_default=True, help="Most sessions.")


@click.group()
def suite() -> None:
    """Suites of test cases: choose one from recorded sessions, and see what it covers."""


@suite.command("list")
@url_option
@key_option
@prompt_option
def list_suites(url: str, api_key: str, prompt_id: int) -> None:
    """Print a line for each suite: its id, its name, and the number of its test cases."""
    for row in _suites(connect(url, api_key), prompt_id):
        terminal.echo(f"{row['id']}\t{visible(row['name'])}\t{row['testCases']}")


@suite.command()
@url_option
@key_option
@prompt_option
@since_option
@until_option
@size_option
@click.option("--suite", "name", help="Propose what this suite lacks.")
@json_option
def propose(url: str, api_key: str, prompt_id: int, as_json: bool, **options: Any) -> None:
    """Choose the fewest sessions that represent the most of the traffic, each with its reason."""
    proposal = _propose(connect(url, api_key), prompt_id, **options)
    if as_json:
        terminal.echo(json.dumps(proposal, ensure_ascii=False, indent=2))
        return
    for line in proposal_lines(proposal):
        terminal.echo(line)


@suite.command()
@name_argument
@click.argument("session_ids", metavar="[SESSION]...", nargs=-1)
@url_option
@key_option
@prompt_option
@since_option
@until_option
@size_option
@click.option("--no-calibrate", is_flag=True, help="Do not replay the new test cases to see whether they are reliable.")
def accept(
    name: str, session_ids: Sequence[str], url: str, api_key: str, prompt_id: int, no_calibrate: bool, **options: Any
) -> None:
    """Make test cases of what is proposed now, or of the named sessions, and add them to a suite.

    Sessions that went wrong are left out: correct them first. Exit code 0, or 1 if sessions were left out.
    """
    instance = connect(url, api_key)
    picks = _picks(instance, prompt_id, name, session_ids, options)
    if not picks:
        raise CouldNotRun("There is nothing to accept: the suite represents the sessions, or there are none.")
    left_out: list[Mapping[str, Any]] = []
    accepted: Any = {}
    while picks:
        body = {"name": name, "picks": picks[:ACCEPTED_AT_ONCE]}
        accepted = instance.post(f"/api/v1/prompts/{prompt_id}/suite-acceptances", body, harmless=True)
        later = {entry["sessionId"] for entry in accepted["leftOut"] if entry.get("why") == "later"}
        left_out += [entry for entry in accepted["leftOut"] if entry["sessionId"] not in later]
        # The first session of a request is never left for later.
        picks = [pick for pick in picks[1:ACCEPTED_AT_ONCE] if pick["sessionId"] in later] + picks[ACCEPTED_AT_ONCE:]
    made = accepted["suite"]
    terminal.echo(f"The suite {visible(name)} has {_counted(len(made['testCases']), 'test case')}.")
    for entry in left_out:
        terminal.echo(f"Left out {entry['sessionId']}: {visible(entry['message'])}")
    if not no_calibrate:
        _calibrate(instance, made)
    click.get_current_context().exit(1 if left_out else 0)


@suite.command()
@name_argument
@url_option
@key_option
@prompt_option
@click.option("--min", "least", type=click.FloatRange(0, 1), help="Exit code 1 below this share, such as 0.8.")
@json_option
def coverage(name: str, url: str, api_key: str, prompt_id: int, least: float | None, as_json: bool) -> None:
    """Print how much of the traffic a suite represents, week by week, what is new, and what is obsolete."""
    instance = connect(url, api_key)
    answer = instance.get(f"/api/v1/suites/{_id_of(instance, prompt_id, name)}/coverage")
    if as_json:
        terminal.echo(json.dumps(answer, ensure_ascii=False, indent=2))
    else:
        for line in coverage_lines(answer):
            terminal.echo(line)
    if least is not None and (answer["share"] is None or answer["share"] < least):
        click.get_current_context().exit(1)


@suite.command("export")
@name_argument
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@url_option
@key_option
@prompt_option
def export_suite(name: str, file: Path, url: str, api_key: str, prompt_id: int) -> None:
    """Write a suite with its test cases to FILE. A suite that has not changed gives the same bytes."""
    instance = connect(url, api_key)
    shown = instance.get(f"/api/v1/suites/{_id_of(instance, prompt_id, name)}")
    cases = [instance.get(f"/api/v1/test-cases/{case['testCaseId']}/export") for case in shown.listed("testCases")]
    written = {"format": FORMAT, "name": shown["name"], "testCases": cases}
    reports.write_file(file, json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    terminal.echo(f"{file}: {_counted(len(cases), 'test case')}")


@suite.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", help="The name of the suite; that of the file by default.")
@url_option
@key_option
@prompt_option
def import_suite(file: Path, name: str | None, url: str, api_key: str, prompt_id: int) -> None:
    """Add the test cases of FILE to a suite, which is made where there is none.

    Test cases of the same names are replaced. Other test cases of the suite stay in it.
    """
    read = text_input.read_json(file)
    cases = read.get("testCases") if isinstance(read, dict) and read.get("format") == FORMAT else None
    if not isinstance(cases, list) or not cases or not isinstance(read.get("name"), str):
        raise CouldNotRun(f"{file} is no suite: `reprise suite export` writes one.")
    instance = connect(url, api_key)
    name = name or read["name"]
    path = f"/api/v1/prompts/{prompt_id}"
    ids = [instance.post(f"{path}/test-cases/import", case)["id"] for case in cases]
    known = next((row["id"] for row in _suites(instance, prompt_id) if row["name"] == name), None)
    if known is None:
        made = instance.post(f"{path}/suites", {"name": name, "testCaseIds": ids})
    else:
        made = instance.post(f"/api/v1/suites/{known}/test-cases", {"testCaseIds": ids})
    terminal.echo(f"The suite {visible(name)} has {_counted(len(made['testCases']), 'test case')}.")


@suite.command()
@name_argument
@url_option
@key_option
@prompt_option
def delete(name: str, url: str, api_key: str, prompt_id: int) -> None:
    """Delete a suite; its test cases stay."""
    instance = connect(url, api_key)
    instance.delete(f"/api/v1/suites/{_id_of(instance, prompt_id, name)}")
    terminal.echo(f"Deleted {visible(name)}")


def proposal_lines(proposal: Mapping[str, Any]) -> Iterator[str]:
    """Yield a proposal as people read it."""
    yield visible(proposal["summary"])
    for number, pick in enumerate(proposal["picks"], start=1):
        mark = "  correct it first" if pick["correctFirst"] else ""
        preview = " ".join((pick["preview"] or "").split())[:80]
        yield f"{number:3}. {pick['sessionId']}  +{pick['share']:.1%}{mark}  {visible(preview)}"
        yield f"     {visible(pick['reason'])}"
    if proposal["passedOver"]:
        yield f"{_counted(proposal['passedOver'], 'session')} can't be replayed faithfully."
    if proposal["unread"]:
        yield f"{_counted(proposal['unread'], 'session')} will be read within minutes."
    if proposal["cut"]:
        yield "There are older sessions in this time, which were not read."
    cost = proposal["gateCost"]
    if cost["max"]:
        yield f"One gate would cost about {usd(cost['min'])} to {usd(cost['max'])}."


def coverage_lines(coverage: Mapping[str, Any]) -> Iterator[str]:
    """Yield the coverage of a suite as people read it."""
    for week in coverage["weeks"]:
        share = "      -" if week["share"] is None else f"{week['share']:7.1%}"
        yield f"{week['begins']}  {share}  {_counted(week['sessions'], 'session')}"
    for entry in coverage["new"]:
        yield f"New: {visible(entry['sentence'])} See session {entry['sessionId']}."
    for kind in ("obsolete", "removable"):
        for case in coverage[kind]:
            yield f"{kind.capitalize()}: {case['testCaseId']} {visible(case['name'])}. {visible(case['reason'])}"


def _suites(instance: Remote, prompt_id: int) -> Sequence[Mapping[str, Any]]:
    return instance.get(f"/api/v1/prompts/{prompt_id}/suites").listed("suites")


def _id_of(instance: Remote, prompt_id: int, name: str) -> int:
    """Return the id of a suite by its name, or by its id."""
    rows = _suites(instance, prompt_id)
    known = next((row for row in rows if row["name"] == name), None)
    known = known or next((row for row in rows if str(row["id"]) == name), None)
    if known is None:
        raise CouldNotRun(f"The prompt has no suite {name!r}.")
    return int(known["id"])


def case_names(instance: Remote, prompt_id: int, name: str) -> list[str]:
    """Return the ids of the test cases of a suite, for `--test-case`. Raises `CouldNotRun` without any."""
    suite_id = _id_of(instance, prompt_id, name)
    cases = instance.get(f"/api/v1/suites/{suite_id}").listed("testCases")
    if not cases:
        raise CouldNotRun(f"The suite {name!r} has no test cases.")
    return [str(case["testCaseId"]) for case in cases]


def _propose(instance: Remote, prompt_id: int, **options: Any) -> Any:
    named = {"suite" if key == "name" else key: value for key, value in options.items() if value is not None}
    return instance.post(f"/api/v1/prompts/{prompt_id}/suite-proposals", named, harmless=True)


def _picks(
    instance: Remote, prompt_id: int, name: str, session_ids: Sequence[str], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the named sessions, or else what is proposed beyond the test cases that the suite has."""
    if session_ids:
        return [{"sessionId": id_} for id_ in dict.fromkeys(session_ids)]
    exists = any(row["name"] == name for row in _suites(instance, prompt_id))
    proposal = _propose(instance, prompt_id, **options, name=name if exists else None)
    return [{"sessionId": pick["sessionId"], "reason": pick["reason"]} for pick in proposal["picks"]]


def _calibrate(instance: Remote, made: Mapping[str, Any]) -> None:
    """Start calibrations of all test cases without one."""
    waiting = sum(case["calibrationId"] is None for case in made["testCases"])
    for _ in range(0, waiting, CALIBRATED_AT_ONCE):
        instance.post(f"/api/v1/suites/{made['id']}/calibrations")
    if waiting:
        terminal.echo(f"Calibrating {_counted(waiting, 'test case')}: the page of the suite shows which are reliable.")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
