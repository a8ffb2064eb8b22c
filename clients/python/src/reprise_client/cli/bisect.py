"""`reprise bisect`: the version with which a test case began to fail."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import judging_option, key_option, prompt_option, select_cases, url_option

if TYPE_CHECKING:
    from reprise_client.cli.bisect_run import Bisection


@click.command()
@url_option
@key_option
@prompt_option
@click.option("--test-case", "name", required=True, help="Id or name.")
@click.option("--good", metavar="HASH", help="A version that passed; the oldest when left out.")
@click.option("--bad", metavar="HASH", help="A version that fails; the newest when left out.")
@click.option("--repeats", type=click.IntRange(2, 100), default=6, show_default=True, help="Replays of these two.")
@click.option("--max-replays", type=click.IntRange(4), default=150, show_default=True, help="Replays of all versions.")
@click.option("--judge", help="Model that judges in the place of the versions' own.")
@judging_option
@click.option("--timeout", type=click.FloatRange(1), default=1800, show_default=True, help="Seconds for one replay.")
def bisect(
    url: str,
    api_key: str,
    prompt_id: int,
    name: str,
    good: str | None,
    bad: str | None,
    repeats: int,
    max_replays: int,
    judge: str | None,
    judging: str | None,
    timeout: float,
) -> None:
    """Find the version with which a test case began to fail, by replays of versions between a good and a bad one.

    Versions with replays that disagree are played again, until one is the cause with a probability of 95 %.

    Exit code 0: found. 1: the bad version fails no more often than the good one. 2: could not run. 3: not certain.
    SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the replays: 2.
    """
    from reprise_client.cli import bisect_run, interruption, remote
    from reprise_client.cli.replay_runner import Runner

    with interruption.interruptible() as stop:
        instance = remote.connect(url, api_key, sleep=stop.sleep)
        (case, *others) = select_cases(instance, prompt_id, [name])
        if others:
            raise CouldNotRun(f"There is more than one test case {name!r}: name it by its id.")
        versions = between(instance.get(f"/api/v1/prompts/{prompt_id}/versions")["versions"], good, bad)
        project_id = instance.get(f"/api/v1/prompts/{prompt_id}")["projectId"]
        runner = Runner(remote=instance, timeout_s=timeout, judge=judge, judging=judging, stop=stop)
        bisection = bisect_run.Bisection(runner, case, versions, f"{instance.url}/projects/{project_id}/replays/")
        sys.exit(_search(bisection, repeats, max_replays))


def _search(bisection: Bisection, repeats: int, max_replays: int) -> int:
    """Print each replay and what was found; return the exit code."""
    for line in bisection.play(repeats, max_replays):
        terminal.echo(line)
    for line in bisection.conclusion():
        terminal.echo(line)
    return bisection.exit_code


def between(newest_first: Sequence[dict[str, Any]], good: str | None, bad: str | None) -> list[dict[str, Any]]:
    """Return the versions from the good one to the bad one, oldest first. Hashes may be shortened."""
    from reprise_client.cli.versions import place

    versions = list(reversed(newest_first))
    first = place(versions, good) if good else 0
    last = place(versions, bad) if bad else len(versions) - 1
    if first >= last:
        raise CouldNotRun("There is nothing between the good version and the bad one: the good one must be older.")
    return versions[first : last + 1]
