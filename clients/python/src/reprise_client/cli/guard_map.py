"""`reprise guard-map`: which sentences of a prompt are guarded by test cases."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click
from reprise_formats.controls import visible
from reprise_formats.formats import plural, usd

from reprise_client.cli import terminal
from reprise_client.cli.failures import naming
from reprise_client.cli.replay import key_option, prompt_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

WORDS = {
    "guarded": "guarded",
    "unguarded": "UNGUARDED",
    "inert": "no effect",
    "undecided": "undecided",
    None: "not played",
}
TEXT_MAX = 100
CASES_MAX = 3


def _lines(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return a line of the text, or two of them such as `10-25`, counted from 1."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", value)
    if found is None:
        raise click.BadParameter("write a line, or two of them such as 10-25")
    return int(found[1]), int(found[2] or found[1])


@click.command("guard-map")
@url_option
@key_option
@prompt_option
@click.option("--candidate", default="draft", show_default=True, help="`draft`, or the hash of a version.")
@click.option("--suite", help="Name of a suite: only its test cases.")
@click.option("--lines", callback=_lines, metavar="FIRST-LAST", help="Only the sentences of these lines.")
@click.option("--detect", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Share of failures to find.")
@click.option("--max-replays", type=click.IntRange(1), help="Replays at which the map ends with what it has.")
@click.option("--max-cost", type=float, help="USD at which the map ends with what it has.")
@click.option("--model-mutants", is_flag=True, help="Let a model propose up to two more mutants of each sentence.")
@click.option("--forecast", is_flag=True, help="Only print what the map would play and cost.")
@click.option("--min-guarded", type=click.FloatRange(0, 1), help="Exit code 1 below this share of guarded sentences.")
@click.option("--make-tests", is_flag=True, help="Make test cases of sessions about the sentences that no test guards.")
@click.option("--json", "as_json", is_flag=True, help="The answer of the API.")
@click.option("--markdown", is_flag=True, help="A table in Markdown.")
@click.option("--timeout", type=click.FloatRange(1), default=7200, show_default=True, help="Seconds to wait.")
def guard_map(
    url: str,
    api_key: str,
    prompt_id: int,
    candidate: str,
    lines: tuple[int, int] | None,
    model_mutants: bool,
    forecast: bool,
    min_guarded: float | None,
    make_tests: bool,
    as_json: bool,
    markdown: bool,
    timeout: float,
    **options: Any,
) -> None:
    """Remove and change each sentence of a prompt, replay its test cases, and show which sentences a test guards.

    Exit code 0: the map is complete, or ended at its limits. 1: too few sentences are guarded. 2: it could not run.
    SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the map: 2.
    """
    from reprise_client.cli import interruption, remote

    names = {"suite": "suite", "detect": "detect", "max_replays": "maxReplays", "max_cost": "maxCost"}
    body = {names[name]: value for name, value in options.items() if value is not None}
    if model_mutants:
        body["modelMutants"] = True
    body["candidate"] = "draft" if candidate == "draft" else {"commitHash": candidate}
    if lines:
        body |= {"firstLine": lines[0], "lastLine": lines[1]}
    path = f"/api/v1/prompts/{prompt_id}/guard-maps"
    with interruption.interruptible() as stop:
        instance = remote.connect(url, api_key, sleep=stop.sleep)
        if forecast:
            terminal.echo(forecast_line(instance.post(f"{path}/forecast", body, harmless=True)))
            return
        expected = None if as_json else forecast_line(instance.post(f"{path}/forecast", body, harmless=True))
        started = instance.post(path, body)
        path = f"/api/v1/guard-maps/{started['id']}"
        with naming(f"Guard map {started['id']}"):
            ended = remote.wait_for_end(instance, path, timeout, stop.sleep, time.monotonic)
        made = list(made_tests(instance, path)) if make_tests and ended["status"] == "finished" else []
    if as_json:
        terminal.echo(json.dumps(ended, ensure_ascii=False, indent=2))
    else:
        for line in markdown_lines(ended) if markdown else report(ended):
            terminal.echo(line)
        for line in made:
            terminal.echo(line)
        terminal.echo(f"Forecast: {expected}.")
    sys.exit(exit_code(ended, min_guarded))


def made_tests(instance: Remote, path: str) -> Iterator[str]:
    """Make test cases of the sessions that a map offers, and yield a line for each sentence that has some."""
    for offer in instance.get(f"{path}/sessions")["sentences"]:
        ids = [session["sessionId"] for session in offer["sessions"]]
        if ids:
            body = {"sentence": offer["number"], "sessionIds": ids}
            made = instance.post(f"{path}/test-cases", body, harmless=True)
            cases = plural(len(made["testCaseIds"]), "test case")
            yield f"Made {cases} for: {visible(' '.join(offer['sentence'].split())[:TEXT_MAX])}"


def exit_code(ended: Mapping[str, Any], min_guarded: float | None) -> int:
    if ended["status"] != "finished":
        return 2
    return 1 if min_guarded is not None and ended["counts"]["guarded"] < min_guarded * len(ended["sentences"]) else 0


def forecast_line(forecast: Mapping[str, Any]) -> str:
    """Return a forecast as people read it."""
    replays, cost = forecast["replays"], forecast["cost"]
    costs = ""
    if cost:
        costs = f", for {usd(cost['min'])} to {usd(cost['max'])}" if cost["max"] else ", without a known cost"
    return (
        f"{plural(forecast['sentences'], 'sentence')}, {plural(forecast['mutants'], 'mutant')}, "
        f"{plural(forecast['testCases'], 'test case')}: {replays['min']:,} to {replays['max']:,} replays{costs}"
    )


def report(ended: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a map: each sentence with its state, then the counts."""
    for sentence in ended["sentences"]:
        text = " ".join(sentence["sentence"].split())
        yield f"{sentence['line']:5}  {WORDS[sentence['state']]:<10}  {visible(text[:TEXT_MAX])}"
        if why := _reason(sentence):
            yield f"{'':19}{visible(why)}"
    yield summary(ended)


def markdown_lines(ended: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| Line | State | Sentence | Why |"
    yield "|---|---|---|---|"
    for sentence in ended["sentences"]:
        cells = " ".join(sentence["sentence"].split()), _reason(sentence)
        text, why = (visible(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        yield f"| {sentence['line']} | {WORDS[sentence['state']]} | {text} | {why} |"
    yield ""
    yield summary(ended)


def summary(ended: Mapping[str, Any]) -> str:
    """Return two or more sentences: the sentences of the text by state, the replays with their cost, and the errors."""
    counts, number = ended["counts"], len(ended["sentences"])
    states = (f"{counts[state]} {word.lower()}" for state, word in WORDS.items() if state and counts[state])
    found = f"{plural(number, 'sentence')}: {', '.join(states) or 'nothing is known'}."
    cost = usd(ended["costUsd"]) if ended["costUsd"] else "no known cost"
    played = f"{plural(ended['progress']['done'], 'replay')}, {cost}."
    error = f"The model proposed no more mutants: {ended['modelError']}" if ended.get("modelError") else None
    return " ".join([found, played, *(visible(why) for why in (ended["reason"], error) if why)])


def _reason(sentence: Mapping[str, Any]) -> str:
    cases = ", ".join(case["name"] for case in sentence["testCases"][:CASES_MAX])
    if sentence["state"] == "guarded":
        mutant = sentence["mutant"]
        by, replaced = (mutant[side][:TEXT_MAX] for side in ("by", "replaced"))
        change = "without it" if mutant["operator"] == "without" else f"with {by!r} for {replaced!r}"
        return f"fails {change}: {cases or 'all test cases together'}"
    if sentence["state"] == "unguarded":
        return f"answers change without it: {cases}" if cases else "every test passes without it"
    return ""
