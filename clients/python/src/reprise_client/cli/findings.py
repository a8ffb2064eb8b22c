"""`reprise findings`: what went wrong in the sessions of a prompt, and who works on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import click
from reprise_formats.controls import visible
from reprise_formats.formats import usd

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import connect, key_option, prompt_option, url_option

STATES = ("open", "in_work", "solved")
id_argument = click.argument("finding_id", metavar="FINDING")
json_option = click.option("--json", "as_json", is_flag=True, help="The answer of the API.")
state_option = click.option("--state", type=click.Choice(STATES))


@click.group()
def findings() -> None:
    """What went wrong in recorded sessions, grouped, and who works on it."""


@findings.command("list")
@url_option
@key_option
@prompt_option
@state_option
@click.option("--days", type=click.IntRange(1, 90), default=30, show_default=True, help="Days before now.")
@json_option
def list_findings(url: str, api_key: str, prompt_id: int, state: str | None, days: int, as_json: bool) -> None:
    """Print a line for each finding: its id, state, sessions, trend and title; those with the most sessions first."""
    query = {"days": days, **({"state": state} if state else {})}
    answer = connect(url, api_key).get(f"/api/v1/prompts/{prompt_id}/findings", **query)
    _print(answer, list_lines(answer), as_json)


@findings.command()
@id_argument
@url_option
@key_option
@prompt_option
@json_option
def show(finding_id: str, url: str, api_key: str, prompt_id: int, as_json: bool) -> None:
    """Print a finding with its newest sessions, and the test cases that were made of them."""
    answer = connect(url, api_key).get(path_of(prompt_id, finding_id))
    _print(answer, finding_lines(answer), as_json)


@findings.command()
@id_argument
@url_option
@key_option
@prompt_option
@state_option
@click.option("--solved-version", metavar="HASH", help="With the state solved; by default the newest version.")
@click.option("--assignee", metavar="EMAIL", help='A member who works on it; "" for no one.')
@json_option
def change(
    finding_id: str,
    url: str,
    api_key: str,
    prompt_id: int,
    state: str | None,
    solved_version: str | None,
    assignee: str | None,
    as_json: bool,
) -> None:
    """Change the state or the assignee of a finding."""
    body = changes_of(state, solved_version, assignee)
    answer = connect(url, api_key).patch(path_of(prompt_id, finding_id), body)
    _print(answer, [finding_line(answer["finding"])], as_json)


def path_of(prompt_id: int, finding_id: str) -> str:
    return f"/api/v1/prompts/{prompt_id}/findings/{quote(finding_id, safe='')}"


def changes_of(state: str | None, solved_version: str | None, assignee: str | None) -> dict[str, Any]:
    """Return the body of a change; raises `CouldNotRun` for one that changes nothing."""
    body: dict[str, Any] = {"state": state} if state else {}
    if solved_version:
        body["solvedVersion"] = solved_version
    if assignee is not None:
        body["assignee"] = assignee or None
    if not body:
        raise CouldNotRun("There is nothing to change: name a state or an assignee.")
    return body


def list_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each finding, and one for what was left out."""
    yield from map(finding_line, answer["findings"])
    if answer["more"]:
        yield f"{answer['more']:,} more have fewer sessions."
    if answer["unread"]:
        yield f"{answer['unread']:,} sessions were not read."


def finding_line(finding: Mapping[str, Any]) -> str:
    """Return a finding as one line."""
    state = "reopened" if finding["reopened"] else finding["state"]
    assignee = f", {visible(finding['assignee'])}" if finding["assignee"] else ""
    sessions = f"{finding['sessions']:,} ({finding['share']:.1%}, {finding['trend']})"
    return f"{finding['id']}\t{state}{assignee}\t{sessions}\t{visible(finding['title'])}"


def finding_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a finding as people read it."""
    finding = answer["finding"]
    yield finding_line(finding)
    yield f"Last 7 days: {finding['recent']:,}; the 7 days before: {finding['before']:,}; cost {usd(finding['cost'])}"
    if finding["solvedVersion"]:
        yield f"Solved by version {visible(finding['solvedVersion'])[:12]} at {finding['solvedAt']}"
    for case in answer["testCases"]:
        found = f": {visible(case['class'])}" if case["class"] else ""
        yield f"Test case {case['testCaseId']} {visible(case['name'])}{found}"
    if answer["experimentId"]:
        yield f"Experiment {answer['experimentId']}: {visible(answer['verdict'] or 'not decided')}"
    for session_id in answer["sessionIds"]:
        yield f"Session {visible(session_id)}"


def _print(answer: Any, lines: Any, as_json: bool) -> None:
    if as_json:
        terminal.echo(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    for line in lines:
        terminal.echo(line)
