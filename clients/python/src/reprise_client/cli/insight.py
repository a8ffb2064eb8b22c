"""`reprise insight`: how the versions of a prompt do, and whether one of them got better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from reprise_formats.formats import duration, number, usd
from reprise_formats.insight import figure, shown

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import key_option, prompt_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

COLUMNS = ("Sessions", "With errors", "Failed tools", "Turn, median", "Cost", "Runs", "Replays passed", "Scores")
COMPARED = ("Figure", "Before", "After", "Change")


@click.command()
@url_option
@key_option
@prompt_option
@click.option("--by", type=click.Choice(["version", "label", "model", "day"]), default="version", show_default=True)
@click.option("--compare", is_flag=True, help="Two versions: the newest and the one before, or the named ones.")
@click.option("--before", metavar="VERSION", help="Or the first letters of its name; implies --compare.")
@click.option("--after", metavar="VERSION")
@click.option("--model", help="Only of this model.")
@click.option("--from", "from", metavar="DAY", help="Such as 2026-11-22; the last 30 days by default.")
@click.option("--to", metavar="DAY", help="Included.")
@click.option("--json", "as_json", is_flag=True, help="The answer of the API, with all figures and intervals.")
def insight(
    url: str,
    api_key: str,
    prompt_id: int,
    by: str,
    compare: bool,
    before: str | None,
    after: str | None,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Show how the sessions, runs, replays and scores of a prompt did, by version or side by side."""
    from reprise_client.cli import remote

    instance, path = remote.connect(url, api_key), f"/api/v1/prompts/{prompt_id}/insight"
    query = {name: value for name, value in filters.items() if value is not None}
    columns: tuple[str, ...]
    if compare or before or after:
        pair = {"before": before, "after": after}
        named = {side: _version(instance, path, query, given) for side, given in pair.items() if given}
        answer = instance.get(f"{path}/comparison", **query, **named)
        columns, rows = COMPARED, [compared_row(finding) for finding in answer.listed("findings")]
    else:
        answer = instance.get(path, groupBy=by, **query)
        columns, rows = (by.capitalize(), *COLUMNS), [row(group, by) for group in answer.listed("groups")]
    if as_json:
        terminal.document(terminal.json_document(answer))
        return
    if "summary" in answer:
        terminal.echo(answer["summary"])
    terminal.table(columns, rows)


def _version(instance: Remote, path: str, query: Mapping[str, str], given: str) -> str:
    """Return the version with figures that has this name, or the only one that begins with it."""

    groups = instance.get(path, **query).listed("groups")
    names = [group["version"] for group in groups if (group["version"] or "").startswith(given)]
    if given in names or len(names) == 1:
        return given if given in names else names[0]
    count = f"{len(names)} versions" if names else "no version"
    raise CouldNotRun(f"In this time {count} with figures begin with {given!r}.")


def row(group: Mapping[str, Any], by: str) -> tuple[str, ...]:
    """Return a group of the API as `COLUMNS` show it, with its name before."""
    sessions, runs, replays = group["sessions"], group["runs"], group["replays"]
    median, played = sessions["turnMs"]["p50"]["value"], replays["passed"] + replays["failed"]
    return (
        " ".join((group[by] or "none").split()),
        number(sessions["sessions"]),
        shown(sessions["failed"], "percent"),
        shown(sessions["failedTools"], "percent"),
        "–" if median is None else duration(median),
        usd(sessions["cost"]),
        number(runs["runs"]),
        f"{replays['passed']} of {played}" if played else "–",
        ", ".join(f"{' '.join(score['name'].split())} {shown(score['mean'], 'score')}" for score in group["scores"])
        or "–",
    )


def compared_row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a finding of the API as `COMPARED` shows it."""
    name, unit = figure(finding["name"], score=finding["score"])
    better = {True: "better", False: "worse"}.get(finding["improved"])
    return (
        name,
        shown(finding["before"], unit),
        shown(finding["after"], unit),
        better or finding["change"] or "too little",
    )
