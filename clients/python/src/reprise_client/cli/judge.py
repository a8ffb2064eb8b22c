"""`reprise judge audit`: how many planted errors a prompt's judge notices."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from reprise_formats.formats import percent, usd

from reprise_client.cli import terminal
from reprise_client.cli.failures import naming
from reprise_client.cli.replay import key_option, prompt_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

MISSES_MAX = 20
TEXT_MAX = 200


@click.group()
def judge() -> None:
    """Audit the judge of a prompt's replays."""


@judge.command()
@url_option
@key_option
@prompt_option
@click.option("--judge", "model", help="The model that judges, by default the prompt's.")
@click.option("--probes", type=click.IntRange(1, 200), default=40, show_default=True, help="Errors to plant.")
@click.option("--max-cost", type=float, help="USD at which the audit ends with what it has.")
@click.option("--min-caught", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="Share to notice.")
@click.option("--timeout", type=click.FloatRange(1), default=1800, show_default=True, help="Seconds to wait.")
def audit(
    url: str,
    api_key: str,
    prompt_id: int,
    model: str | None,
    probes: int,
    max_cost: float | None,
    min_caught: float,
    timeout: float,
) -> None:
    """Plant errors in the prompt's test cases, and count which of them the judge notices.

    Exit code 0: enough of them did not pass. 1: too many passed. 2: the audit could not run.
    SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the audit: 2.
    """
    from reprise_client.cli import interruption, remote

    options = {"judgeModelName": model, "probes": probes, "maxCost": max_cost}
    body = {name: value for name, value in options.items() if value is not None}
    with interruption.interruptible() as stop:
        instance = remote.connect(url, api_key, sleep=stop.sleep)
        ended = audited(instance, prompt_id, body, timeout, stop.sleep)
        for line in report(ended):
            terminal.echo(line)
        sys.exit(exit_code(ended, min_caught))


def audited(
    instance: Remote,
    prompt_id: int,
    body: dict[str, Any],
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Start an audit and return it when it has ended; see `wait_for_end`."""
    from reprise_client.cli.remote import wait_for_end

    started = instance.post(f"/api/v1/prompts/{prompt_id}/judge-audits", body)
    with naming(f"Audit {started['id']}"):
        return wait_for_end(instance, f"/api/v1/judge-audits/{started['id']}", timeout_s, sleep, monotonic)


def exit_code(audit: dict[str, Any], min_caught: float) -> int:
    """Return 0 if enough planted errors were not accepted, 1 for too few, and 2 without figures.

    `min_caught` is a share from 0 to 1. A probe that a person would have to decide counts as caught.
    """
    if audit["status"] != "finished" or audit["figures"] is None:
        return 2
    planted = audit["figures"]["planted"]
    return 1 if planted["right"] + planted["undecided"] < min_caught * planted["probes"] else 0


def report(audit: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about an audit: the sentence, the figures by kind, and the probes that got a wrong verdict."""
    yield audit["sentence"] or audit["status"]
    if snapshot := audit.get("judgeSnapshot"):
        yield f"The judge is {audit['judgeModelName']}; its vendor reported {snapshot}."
    if figures := audit["figures"]:
        harmless = figures["harmless"]
        yield f"Accepted {harmless['right']} of {harmless['probes']} harmless changes. It cost {usd(audit['cost'])}."
        if figures["accuracy"] is not None and figures["constant"] is not None:
            kappa = "none" if figures["kappa"] is None else f"{figures['kappa']:.2f}"
            constant = percent(figures["constant"])
            yield f"Right: {percent(figures['accuracy'])}; a constant verdict: {constant}; κ {kappa}."
        for kind in figures["kinds"]:
            share = kind["share"]
            yield f"    {kind['kind'].replace('_', ' '):<20} {share['right']} of {share['probes']}"
    misses = [outcome for outcome in audit["outcomes"] if is_miss(outcome)]
    for outcome in misses[:MISSES_MAX]:
        probe = outcome["probe"]
        what = "planted error" if probe["planted"] else "harmless change"
        yield f"{outcome['verdict']}: {what} ({probe['kind'].replace('_', ' ')}), test case {probe['testCaseId']}"
        yield f"    recorded: {str(probe['recorded'])[:TEXT_MAX]}"
        yield f"    produced: {str(probe['produced'])[:TEXT_MAX]}"
    if audit["error"]:
        yield f"    {audit['error']}"


def is_miss(outcome: dict[str, Any]) -> bool:
    """Return True unless an error failed, or a harmless change passed."""
    return bool(outcome["verdict"] != ("failed" if outcome["probe"]["planted"] else "passed"))
