"""`reprise labels`: the labels of a prompt, as a deployment moves them."""

from __future__ import annotations

import shlex
from typing import Any
from urllib.parse import quote

import click

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import key_option, prompt_option, url_option

COLUMNS = ("Label", "Version", "Split", "Guarded", "Moved")
label_argument = click.argument("label")


@click.group()
def labels() -> None:
    """Labels on versions of a prompt.

    Exit code 0: done. 1: refused, as the label is guarded. 2: could not run.
    """


@labels.command("list")
@url_option
@key_option
@prompt_option
def list_labels(url: str, api_key: str, prompt_id: int) -> None:
    """List the labels with their versions."""
    from reprise_client.cli import remote

    listed = remote.connect(url, api_key).get(_path(prompt_id)).listed("labels")
    terminal.table(COLUMNS, map(row, listed))


@labels.command()
@label_argument
@click.argument("version")
@url_option
@key_option
@prompt_option
@click.option("--share", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Of the callers; else all.")
@click.option("--experiment", "experiment_id", type=int, help="A passed experiment, which a guarded label asks for.")
@click.option("--guarded/--not-guarded", default=None, help="Switch the guard; left out, it is not changed.")
@click.option(
    "--evidence", is_flag=True, help="Set the evidence of the guard, to the defaults without an option below."
)
@click.option("--repeats", type=click.IntRange(1, 100), help="The least repeats.min of the experiment.")
@click.option(
    "--detect", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="The most detect of the experiment."
)
@click.option("--min-sighted", type=click.FloatRange(0, 1), help="The least share of test cases that can show a drop.")
@click.option("--watch-days", type=click.IntRange(1), help="A watch without a drop in so many last days.")
@click.option("--suite", type=int, multiple=True, help="A test case that it has to cover; repeatable. All without it.")
@click.option("--override", metavar="REASON", help="Move a guarded label without an experiment, as an admin.")
def move(
    label: str,
    version: str,
    url: str,
    api_key: str,
    prompt_id: int,
    share: float | None,
    experiment_id: int | None,
    guarded: bool | None,
    evidence: bool,
    repeats: int | None,
    detect: float | None,
    min_sighted: float | None,
    watch_days: int | None,
    suite: tuple[int, ...],
    override: str | None,
) -> None:
    """Point LABEL to VERSION: `latest`, a commit hash, or the first digits of one."""
    from reprise_client.cli import remote
    from reprise_client.cli.versions import full_hash

    instance = remote.connect(url, api_key)
    body = {
        "commitHash": full_hash(instance, prompt_id, version),
        "share": share,
        "experimentId": experiment_id,
        "guarded": guarded,
        "override": override,
        **_evidence(
            evidence,
            {
                "repeats": repeats,
                "detect": detect,
                "minSighted": min_sighted,
                "watchDays": watch_days,
                "testCaseIds": list(suite) or None,
            },
        ),
    }
    try:
        moved = instance.put(_path(prompt_id, label), body)
    except CouldNotRun as refusal:
        if refusal.status != 409:
            raise
        advice = "" if experiment_id else _experiment_advice(prompt_id, body["commitHash"], label)
        raise click.ClickException(refusal.message + advice) from refusal
    terminal.table(COLUMNS, [row(moved)])


@labels.command()
@label_argument
@url_option
@key_option
@prompt_option
def delete(label: str, url: str, api_key: str, prompt_id: int) -> None:
    """Delete LABEL: callers that use it get 404 from then on."""
    from reprise_client.cli import remote

    remote.connect(url, api_key).delete(_path(prompt_id, label))


def _experiment_advice(prompt_id: int, commit_hash: str, label: str) -> str:
    """Return how a guarded label gets its experiment at the command line."""
    gate = shlex.join(["reprise", "gate", "--prompt", str(prompt_id), "--commit", commit_hash[:8], "--baseline", label])
    return f"\nMake the experiment with `{gate}`, and name it with --experiment."


def _evidence(wanted: bool, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the body with the evidence that the guard requires."""
    given = {name: number for name, number in numbers.items() if number is not None}
    if given and not wanted:
        raise click.UsageError("--repeats, --detect, --min-sighted, --watch-days and --suite belong to --evidence.")
    return {"evidence": given} if wanted else {}


def row(label: dict[str, Any]) -> tuple[str, str, str, str, str]:
    """Return a label of the API as `COLUMNS` show it."""
    split = label["split"]
    other = f"{split['share']:g} {split['commitHash']}" if split else ""
    guard = "guarded" if label["guarded"] else ""
    if guard and (evidence := label.get("evidence")):
        suite = evidence.get("testCaseIds")
        cases = "all test cases" if suite is None else f"{len(suite)} test case{'s' * (len(suite) != 1)}"
        guard += f" by {cases}, {evidence['repeats']} repeats"
    return label["label"], label["commitHash"], other, guard, label["updatedAt"]


def _path(prompt_id: int, label: str = "") -> str:
    path = f"/api/v1/prompts/{prompt_id}/labels"
    return f"{path}/{quote(label, safe='')}" if label else path
