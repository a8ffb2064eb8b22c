"""`reprise import`: sessions, test cases and prompts from the exports of other tools."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click
from reprise_formats.formats import plural
from reprise_formats.importers import CASE_CONVERTERS, CONVERTERS, PROMPTS, Convert, otlp
from reprise_formats.importers.files import UnreadableFile, records_of
from reprise_formats.importers.records import read
from reprise_formats.importers.sending import Import

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun, RefusedRequest
from reprise_client.cli.replay import key_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

# The message for a file in which nothing is right.
_REPORTED_MAX = 100


@click.command("import")
@click.argument("tool", type=click.Choice([*CONVERTERS, *CASE_CONVERTERS, PROMPTS]))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb"))
@url_option
@key_option
@click.option("--prompt", "prompt_id", type=int, help="The prompt's id.")
@click.option("--agent", help="The name of an agent that gets the sessions; the first one makes its prompt.")
@click.option(
    "--content",
    "contents",
    metavar="URI=FOLDER",
    multiple=True,
    help="For otlp: contents with this beginning of their URIs are read from this folder. May be repeated.",
)
@click.option("--strict", is_flag=True, help="Stop at the first record that can't be imported.")
def import_(
    tool: str,
    files: tuple[io.BufferedReader, ...],
    url: str,
    api_key: str,
    prompt_id: int | None,
    agent: str | None,
    contents: tuple[str, ...],
    strict: bool,
) -> None:
    """Import what a TOOL exported to FILE (- for standard input): sessions, test cases, or prompts with versions.

    Sessions belong to a prompt or an agent, test cases to a prompt. Importing a file again adds nothing, so that an
    import which was interrupted is run again as it was.

    Exit code 0: all of it was imported. 1: some was not. 2: could not run.
    """
    from reprise_client.cli import remote

    _require_owner(tool, prompt_id, agent)
    convert = _converter(tool, contents)
    instance = remote.connect(url, api_key)
    if tool == PROMPTS:
        failed = _import_prompts(instance, files, strict)
    elif convert is None:
        failed = _import_cases(tool, instance, files, prompt_id or 0, strict)
    else:
        failed = _import_sessions(tool, convert, instance, files, _owner(prompt_id, agent), strict)
    sys.exit(1 if failed else 0)


def _require_owner(tool: str, prompt_id: int | None, agent: str | None) -> None:
    if tool == PROMPTS and (prompt_id is not None or agent is not None):
        raise click.UsageError(f"{PROMPTS} makes prompts: leave out --prompt and --agent.")
    if tool in CASE_CONVERTERS and (prompt_id is None or agent is not None):
        raise click.UsageError("Name the prompt of the test cases with --prompt.")
    if tool in CONVERTERS and (prompt_id is None) == (agent is None):
        raise click.UsageError("Name either a prompt with --prompt, or an agent with --agent.")


def _owner(prompt_id: int | None, agent: str | None) -> str:
    return f"agents/{quote(agent, safe='')}" if agent is not None else f"prompts/{prompt_id}"


def _converter(tool: str, contents: Sequence[str]) -> Convert | None:
    """Return what makes spans of a tool's records, None where it has none."""
    if not contents:
        return CONVERTERS.get(tool)
    if tool != "otlp":
        raise click.UsageError("--content is for otlp: other tools' exports hold their contents.")
    folders = {}
    for given in contents:
        uri, _, folder = given.rpartition("=")
        if not uri or not Path(folder).is_dir():
            raise click.UsageError(f"--content {given}: give the beginning of the URIs, =, and an existing folder.")
        folders[uri] = Path(folder)
    return otlp.Otlp(otlp.UploadedContents(folders))


def _import_sessions(
    tool: str,
    convert: Convert,
    instance: Remote,
    files: Sequence[io.BufferedReader],
    owner: str,
    strict: bool,
) -> bool:
    # Ids of spans of an earlier release have the prompt's id only.
    run = Import(
        convert=convert,
        scope=f"{tool}/{owner.removeprefix('prompts/')}",
        send=lambda body, headers: instance.ingest(f"/api/public/{owner}/otel/v1/traces", body, headers),
        report=_reporter(),
        strict=strict,
    )
    try:
        for file in files:
            run.run(read(file), time.time_ns())
            if strict and run.failed:
                break
    finally:
        terminal.echo(run.summary)
    return run.failed


def _import_cases(
    tool: str, instance: Remote, files: Sequence[io.BufferedReader], prompt_id: int, strict: bool
) -> bool:
    from reprise_formats.importers.storing import CaseImport

    run = CaseImport(
        instance.draft(prompt_id)[0]["placeholderDefinitions"],
        CASE_CONVERTERS[tool],
        lambda document: instance.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", document),
        _reporter(),
        RefusedRequest,
    )
    try:
        run.run(chain.from_iterable(records_of(tool, file, file.name) for file in files), strict=strict)
    except UnreadableFile as error:
        raise CouldNotRun(str(error)) from error
    terminal.echo(run.summary)
    return bool(run.failed)


def _import_prompts(instance: Remote, files: Sequence[io.BufferedReader], strict: bool) -> bool:
    from reprise_formats.importers.storing import PromptImport

    run = PromptImport(instance, _reporter(), RefusedRequest)
    run.run(chain.from_iterable(map(read, files)), strict=strict)
    parts = [plural(run.prompts, "prompt"), plural(run.versions, "version"), plural(run.labels, "label")]
    failed = [f"{run.failed} not imported"] if run.failed else []
    terminal.echo("Imported " + ", ".join([*parts, *failed]) + ".")
    return bool(run.failed)


def _reporter() -> Callable[[str], None]:
    reported = 0

    def report(message: str) -> None:
        nonlocal reported
        reported += 1
        if reported <= _REPORTED_MAX:
            terminal.echo(message, err=True)
        if reported == _REPORTED_MAX:
            terminal.echo("What else can't be imported is counted and not listed.", err=True)

    return report
