"""`reprise calibrate`: how far a prompt's test cases can be relied on, found by replays of its newest version."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.failures import naming
from reprise_client.cli.replay import judging_option, key_option, prompt_option, select_cases, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote


@click.command()
@url_option
@key_option
@prompt_option
@click.option("--test-case", "names", multiple=True, help="Id or name; repeatable. All of the prompt's when left out.")
@click.option("--repeats", type=click.IntRange(2, 20), default=5, show_default=True, help="Replays of each test case.")
@click.option("--judge", help="Model that judges in the place of the version's own.")
@judging_option
@click.option("--accept", is_flag=True, help="Change the test cases as the calibrations propose.")
@click.option("--timeout", type=click.FloatRange(1), default=1800, show_default=True, help="Seconds for one test case.")
def calibrate(
    url: str,
    api_key: str,
    prompt_id: int,
    names: tuple[str, ...],
    repeats: int,
    judge: str | None,
    judging: str | None,
    accept: bool,
    timeout: float,
) -> None:
    """Replay a prompt's newest version several times to see if its test cases can be relied on.

    Exit code 0: all can, by the proposals where they need any. 1: some can't, or can't fail. 2: some could not run.
    SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the calibration: 2.
    """
    from reprise_client.cli import interruption, remote

    with interruption.interruptible() as stop:
        instance = remote.connect(url, api_key, sleep=stop.sleep)
        body = {"repeats": repeats, **remote.judge_fields(judge, judging)}
        codes = []
        for test_case_id, name in select_cases(instance, prompt_id, names):
            stop.check()
            calibration = calibrated(instance, test_case_id, body, timeout, stop.sleep)
            for line in report(name, calibration):
                terminal.echo(line)
            if accept and calibration["proposals"]:
                instance.post(f"/api/v1/calibrations/{calibration['id']}/accept")
                terminal.echo(f"    accepted {len(calibration['proposals'])}")
            codes.append(exit_code(calibration))
        sys.exit(max(codes))


def calibrated(
    instance: Remote,
    test_case_id: int,
    body: dict[str, Any],
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Start a calibration and return it when it has ended; see `wait_for_end`."""
    from reprise_client.cli.remote import wait_for_end

    started = instance.post(f"/api/v1/test-cases/{test_case_id}/calibrations", body)
    with naming(f"Calibration {started['id']}"):
        return wait_for_end(instance, f"/api/v1/calibrations/{started['id']}", timeout_s, sleep, monotonic)


def exit_code(calibration: dict[str, Any]) -> int:
    if calibration["status"] != "finished":
        return 2
    return 0 if calibration["usable"] and calibration["canFail"] else 1


def report(name: str, calibration: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a calibration: the verdict, the unstable steps and what is proposed for them."""
    yield f"{_verdict(calibration):<12} {name} · {calibration['repeats']} replays"
    checks = {(proposal["turn"], proposal["step"]): proposal["check"] for proposal in calibration["proposals"]}
    for rate in calibration["steps"]:
        if rate["passed"] < rate["of"]:
            check = checks.get((rate["turn"], rate["step"]))
            proposed = f", proposed: {json.dumps(check, ensure_ascii=False)}" if check else ""
            place = f"turn {rate['turn'] + 1}, step {rate['step'] + 1}"
            yield f"    {place}: passed {rate['passed']} of {rate['of']}{proposed}"
    yield from (f"    {problem}" for problem in calibration["problems"])
    if calibration["status"] == "finished" and not calibration["canFail"]:
        yield "    can't fail: a draft that calls no tool and answers nothing passes"
    if calibration["error"]:
        yield f"    {calibration['error']}"


def _verdict(calibration: dict[str, Any]) -> str:
    if calibration["status"] != "finished":
        return str(calibration["status"]).upper()
    if not calibration["usable"]:
        return "NOT USABLE"
    return "PROPOSALS" if calibration["proposals"] else "USABLE"
