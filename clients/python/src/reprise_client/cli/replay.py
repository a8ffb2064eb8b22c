"""`reprise replay` and `reprise test-cases`: a prompt's test cases against its draft, and as files in a repository."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
from reprise_formats.controls import visible

from reprise_client.cli import terminal, text_input
from reprise_client.cli.failures import CouldNotRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reprise_client.cli.remote import Remote
    from reprise_client.cli.replay_runner import ChosenCase, ReplayOutcome, Runner

url_option = click.option(
    "--url", envvar="REPRISE_URL", show_envvar=True, required=True, help="Base URL of the instance."
)
key_option = click.option(
    "--api-key", envvar="REPRISE_API_KEY", show_envvar=True, default="", help="Better set as the variable."
)


def prompt_of_agent(url: str, api_key: str) -> int | None:
    """Return the id of the prompt of the agent that `REPRISE_AGENT` names, None without that variable."""
    if not (agent := os.environ.get("REPRISE_AGENT")):
        return None
    from reprise_client.cli.agents import prompt_of

    return prompt_of(connect(url, api_key), agent)


def _prompt_or_agents(context: click.Context, option: click.Parameter, prompt_id: int | None) -> int:
    """Return the given id, or that of `prompt_of_agent`. The options of URL and key are read before this one."""
    if prompt_id is None:
        prompt_id = prompt_of_agent(context.params["url"], context.params["api_key"])
    if prompt_id is None:
        raise click.MissingParameter("Or set REPRISE_AGENT to the name of an agent.", context, option)
    return prompt_id


prompt_option = click.option(
    "--prompt",
    "prompt_id",
    type=int,
    callback=_prompt_or_agents,
    help="The prompt's id; left out, the prompt of the agent in REPRISE_AGENT.",
)
judging_option = click.option(
    "--judging",
    type=click.Choice(["auto", "always", "never"]),
    help="Refuse to run without a judge, or ask none; auto when left out.",
)


def connect(url: str, api_key: str) -> Remote:
    """Connect to an instance. Only commands that do load httpx."""
    from reprise_client.cli import remote

    return remote.connect(url, api_key)


# Windows opens a device for these names, whatever their extension.
_DEVICE = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9¹²³]")
report_file = click.Path(allow_dash=True, dir_okay=False, path_type=Path)


@click.command()
@url_option
@key_option
@prompt_option
@click.option("--test-case", "names", multiple=True, help="Id or name; repeatable. All of the prompt's when left out.")
@click.option(
    "--faults",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="JSON file with a list of faults: play one test case with these instead.",
)
@click.option("--junit", type=report_file, help="Write JUnit XML there; - for standard output.")
@click.option("--json", "json_file", type=report_file, help="Write all results there; - for standard output.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=4, show_default=True, help="Replays at once.")
@click.option("--judge", help="Model that judges in the place of the draft's own.")
@judging_option
@click.option("--timeout", type=click.FloatRange(1), default=1800, show_default=True, help="Seconds for one replay.")
def replay(
    url: str,
    api_key: str,
    prompt_id: int,
    names: tuple[str, ...],
    faults: Path | None,
    junit: Path | None,
    json_file: Path | None,
    concurrency: int,
    judge: str | None,
    judging: str | None,
    timeout: float,
) -> None:
    """Replay a prompt's test cases and their variants against its draft.

    Exit code 0: all passed. 1: some failed or need a person's review. 2: some are void or could not run, or none did.
    SIGINT (Ctrl+C), SIGTERM and SIGHUP cancel the replays: 2.
    """
    from reprise_client.cli import interruption, remote
    from reprise_client.cli.replay_runner import ReplayOutcome, Runner

    files = (junit, json_file)
    with interruption.interruptible() as stop:
        try:
            instance = remote.connect(url, api_key, sleep=stop.sleep)
            cases = played_cases(instance, prompt_id, names, faults)
        except CouldNotRun as problem:
            _report(prompt_id, [ReplayOutcome(None, "reprise replay", None, problem.message)], files)
            raise
        runner = Runner(remote=instance, timeout_s=timeout, judge=judge, judging=judging, stop=stop)
        outcomes = _show(runner, cases, concurrency, err=any(str(file) == "-" for file in files))
        order = {(case.test_case_id, case.name): index for index, case in enumerate(cases)}
        outcomes.sort(key=lambda outcome: order[outcome.test_case_id or 0, outcome.name])
        code = _report(prompt_id, outcomes, files)
        _warn_of_changed_draft(outcomes)
        sys.exit(code)


def _report(prompt_id: int, outcomes: Sequence[ReplayOutcome], files: tuple[Path | None, Path | None]) -> int:
    """Write the files for JUnit and JSON that were asked for, and return the exit code."""
    from reprise_client.cli import replay_report, reports

    texts = zip(files, (replay_report.junit, replay_report.as_json), strict=True)
    wanted = [(file, text(prompt_id, outcomes)) for file, text in texts if file is not None]
    return reports.write(wanted, replay_report.exit_code(outcomes))


def select_cases(instance: Remote, prompt_id: int, names: Sequence[str]) -> list[tuple[int, str]]:
    """Return (id, name) of the test cases to replay, oldest first; `CouldNotRun` when there are none."""
    return [(case["id"], case["name"]) for case in _selected(instance, prompt_id, names)]


def played_cases(instance: Remote, prompt_id: int, names: Sequence[str], faults: Path | None) -> list[ChosenCase]:
    """Return the test cases to replay, each followed by its variants, or the only one with the faults of a file."""
    from reprise_client.cli.replay_runner import ChosenCase

    selected = _selected(instance, prompt_id, names)
    if faults is not None:
        if len(selected) > 1:
            raise CouldNotRun("--faults is for one test case: name it with --test-case.")
        return [ChosenCase(case["id"], case["name"], {"faults": text_input.read_json(faults)}) for case in selected]
    return [
        ChosenCase(
            case["id"],
            f"{case['name']} · {variant}" if variant else case["name"],
            {"variant": variant} if variant else {},
        )
        for case in selected
        for variant in (None, *(stored["name"] for stored in case.get("variants", ())))
    ]


def _selected(instance: Remote, prompt_id: int, names: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the test cases with these ids or names, or all, oldest first; `CouldNotRun` when there are none."""

    listed = instance.pages(f"/api/v1/prompts/{prompt_id}/test-cases", "testCases")
    known = sorted(listed, key=lambda case: int(case["id"]))
    for name_or_id in names:
        if not any(name_or_id in (str(case["id"]), case["name"]) for case in known):
            raise CouldNotRun(f"Prompt {prompt_id} has no test case {name_or_id!r}.")
    chosen = [case for case in known if not names or str(case["id"]) in names or case["name"] in names]
    if not chosen:
        raise CouldNotRun(f"Prompt {prompt_id} has no test cases.")
    return chosen


def _show(runner: Runner, cases: Sequence[ChosenCase], concurrency: int, *, err: bool) -> list[ReplayOutcome]:
    """Print each outcome as its replay ends, with `err` on standard error; return all of them."""
    from reprise_client.cli import replay_report

    colours = {"passed": "green", "failed": "red", "needs_review": "yellow"}
    outcomes: list[ReplayOutcome] = []
    for outcome in runner.outcomes(cases, concurrency):
        outcomes.append(outcome)
        terminal.clear_progress()
        terminal.echo(replay_report.headline(outcome), err=err, fg=colours.get(outcome.status, "magenta"))
        for line in replay_report.details(outcome):
            terminal.echo(line, err=err, fg={"- ": "red", "+ ": "green"}.get(line.strip()[:2]))
        terminal.progress(len(outcomes), len(cases))
    terminal.clear_progress()
    return outcomes


def _warn_of_changed_draft(outcomes: Sequence[ReplayOutcome]) -> None:
    drafts = {outcome.replay["draftFingerprint"] for outcome in outcomes if outcome.replay}
    if len(drafts) > 1:
        terminal.echo("The draft was changed meanwhile: these are replays of different drafts.", err=True)


folder = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))


@click.group("test-cases")
def test_cases() -> None:
    """Test cases of a prompt: of sessions, their tools, and as files."""


@test_cases.command("add")
@url_option
@key_option
@prompt_option
@click.option("--session", "session_id", help="The session's id; the newest one of the prompt when left out.")
@click.option("--name", help="The test case's name; the session's first question when left out.")
@click.option(
    "--corrections",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="JSON file with a list of corrections: what the agent should have done.",
)
def add_case(
    url: str, api_key: str, prompt_id: int, session_id: str | None, name: str | None, corrections: Path | None
) -> None:
    """Make a session a test case and print its id and name.

    Without --session, a session that a later one contains is passed over for that one; with it, this is a warning, as
    are signs that the session went wrong, unless there are corrections.
    """
    from reprise_client.cli import remote

    instance = remote.connect(url, api_key)
    session = _address(session_id or _newest_session(instance, prompt_id))
    proposal = instance.get(f"{session}/test-case-proposal")
    if whole := proposal.get("partOf"):
        terminal.echo(visible(f"The session is a piece of the later session {whole}, which contains it."), err=True)
        if session_id is None:
            terminal.echo("It is passed over: the test case is made of the later one.", err=True)
            session = _address(whole)
            proposal = instance.get(f"{session}/test-case-proposal")
    _warn_of_earlier_messages(proposal["testCase"])
    body: dict[str, Any] = {"name": name} if name else {}
    if corrections is None:
        _warn_of_mistakes(proposal.get("doubts", ()))
    else:
        body |= {"corrections": text_input.read_json(corrections)}
    case = instance.post(f"{session}/test-cases", body)
    terminal.echo(f"{case['id']}\t{visible(case['name'])}")


def _address(session_id: str) -> str:
    return f"/api/v1/sessions/{quote(session_id, safe='')}"


def _newest_session(instance: Any, prompt_id: int) -> str:
    listed = instance.get(f"/api/v1/prompts/{prompt_id}/logs", type="otel", limit=1)["entries"]
    if not listed:
        raise CouldNotRun(f"Prompt {prompt_id} has no session.")
    return str(listed[0]["id"])


def _warn_of_earlier_messages(case: Mapping[str, Any]) -> None:
    """Print that no program can play the test case, if its conversation was under way before it was recorded."""
    if any(turn.get("earlier") for turn in case["turns"]):
        terminal.echo(
            "The conversation was under way when this session began. Replays of the draft show the model its earlier "
            "messages, but a gate over a program can't, and is void. For a gate, name the conversation in your "
            "program's traces, and make the test case of a session with all of it.",
            err=True,
        )


def _warn_of_mistakes(doubts: Sequence[dict[str, Any]]) -> None:
    for doubt in doubts:
        place = "" if doubt["turn"] is None else f"Turn {doubt['turn'] + 1}: "
        terminal.echo(visible(f"{place}{doubt['message']}"), err=True)
    if doubts:
        terminal.echo(
            "The session may have gone wrong, and the test case demands what was recorded. Correct it on its page, or "
            "with --corrections.",
            err=True,
        )


@test_cases.command("export")
@folder
@url_option
@key_option
@prompt_option
def export_cases(folder: Path, url: str, api_key: str, prompt_id: int) -> None:
    """Write each test case to its file in FOLDER, named after it. Unchanged ones give the same bytes."""
    from reprise_client.cli import remote, reports

    instance = remote.connect(url, api_key)
    written: dict[str, str] = {}
    for case in instance.pages(f"/api/v1/prompts/{prompt_id}/test-cases", "testCases"):
        file = f"{slug(case['name'])}.json"
        if file in written:
            raise CouldNotRun(
                f"{written[file]!r} and {case['name']!r} would both be {file}: give one of them another name."
            )
        written[file] = case["name"]
        exported = instance.get(f"/api/v1/test-cases/{case['id']}/export")
        reports.write_file(folder / file, json.dumps(exported, indent=2, ensure_ascii=False) + "\n")
        terminal.echo(folder / file)


@test_cases.command("import")
@folder
@url_option
@key_option
@prompt_option
def import_cases(folder: Path, url: str, api_key: str, prompt_id: int) -> None:
    """Set the prompt's test cases to the files in FOLDER; test cases of other names are not changed."""
    from reprise_client.cli import remote

    instance = remote.connect(url, api_key)
    files = sorted(folder.glob("*.json"))
    if not files:
        raise CouldNotRun(f"There are no test cases (*.json) in {folder}.")
    for file in files:
        case = instance.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", text_input.read_json(file))
        terminal.echo(f"{case['id']}\t{visible(case['name'])}")


def slug(name: str) -> str:
    """Return a file name for every system: letters and digits of any script, and "-" for all between them."""
    folded = unicodedata.normalize("NFC", name).casefold()
    made = re.sub(r"[\W_]+", "-", folded).strip("-")[:80] or "test-case"
    return f"{made}-" if _DEVICE.fullmatch(made) else made
