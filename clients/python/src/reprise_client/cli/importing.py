"""`reprise import`: sessions from the exports of other tools."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

import click
from reprise_formats.formats import plural

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, prompt_option, url_option
from reprise_client.importers import CONVERTERS
from reprise_client.importers.records import read
from reprise_client.importers.sending import Import

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

# The message for a file in which nothing is right.
_REPORTED = 100


@click.command("import")
@click.argument("tool", type=click.Choice(list(CONVERTERS)))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb"))
@url_option
@key_option
@prompt_option
@click.option("--strict", is_flag=True, help="Stop at the first record that can't be imported.")
def import_(
    tool: str, files: tuple[io.BufferedReader, ...], url: str, api_key: str, prompt_id: int, strict: bool
) -> None:
    """Import the conversations that a TOOL exported to FILE (- for standard input) as sessions of a prompt.

    Importing a file again adds nothing, so that an import which was interrupted is run again as it was.

    Exit code 0: all of it was imported. 1: some was not. 2: could not run.
    """
    from reprise_client.cli import remote

    run = _import(tool, remote.connect(url, api_key), prompt_id, strict)
    try:
        for file in files:
            run.run(read(file), time.time_ns())
            if strict and run.failed:
                break
    finally:
        _summarize(run)
    sys.exit(1 if run.failed else 0)


def _import(tool: str, instance: Remote, prompt_id: int, strict: bool) -> Import:
    path = f"/api/public/prompts/{prompt_id}/otel/v1/traces"
    reported = 0

    def report(message: str) -> None:
        nonlocal reported
        reported += 1
        if reported <= _REPORTED:
            terminal.echo(message, err=True)
        if reported == _REPORTED:
            terminal.echo("What else can't be imported is counted and not listed.", err=True)

    return Import(
        convert=CONVERTERS[tool],
        scope=f"{tool}/{prompt_id}",
        send=lambda body, headers: instance.ingest(path, body, headers),
        report=report,
        strict=strict,
    )


def _summarize(run: Import) -> None:
    parts = [plural(run.sessions, "session"), plural(run.spans, "span")]
    if run.rejected:
        parts.append(f"{plural(run.rejected, 'span')} rejected")
    if run.unread:
        parts.append(f"{plural(run.unread, 'record')} not readable")
    terminal.echo("Imported " + ", ".join(parts) + ".")
