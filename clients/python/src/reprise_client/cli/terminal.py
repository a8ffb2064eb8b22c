"""What commands print: texts with their hidden characters shown, tables, and progress, drawn on a terminal only.

Runners of continuous integration execute commands that they find in the output of a step. Texts of models, tools and
users must give none.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
from reprise_formats.controls import visible, visible_lines

from reprise_client.cli import standard_streams

# Set by the runners of GitHub (also Gitea's and Forgejo's), Azure Pipelines and TeamCity.
RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
# GitHub's runner finds `##[` anywhere in a line and `::` at its beginning (src/Runner.Common/ActionCommand.cs of
# actions/runner), Azure's finds `##vso[`, TeamCity's `##teamcity[`.
_COMMAND = re.compile(r"#(?=#(?:vso|teamcity)?\[)|^[^\S\n]*:(?=:)", re.I | re.M)
# No line of JSON begins with a colon.
_COMMAND_IN_JSON = re.compile(rb"#(?=#(?:vso|teamcity)?\[)", re.I)
_BEGUN = len("##teamcity")
"""The most bytes of a command that a piece may end with."""


class OutputLost(click.ClickException):
    """A document did not reach standard output as a whole."""

    exit_code = 2


def echo(text: object, *, err: bool = False, nl: bool = True, fg: str | None = None) -> None:
    """Print a text for people, so that nothing in it controls their terminal or their runner."""
    click.secho(shown(str(text)), err=err, nl=nl, fg=fg)


def shown(text: str) -> str:
    r"""Return a text with its hidden characters as `\u001b`; for a runner, also the first one of each command."""
    text = visible_lines(text)
    if not _is_read_by_runner():
        return text
    return _COMMAND.sub(lambda match: f"{match[0][:-1]}\\u{ord(match[0][-1]):04x}", text)


def _is_read_by_runner() -> bool:
    return any(map(os.environ.get, RUNNERS))


def document(content: str) -> None:
    """Print a text for programs, such as JSON, in UTF-8, but on a terminal as `echo` does. Raises `OutputLost`."""
    stream([encoded(content)])


def encoded(content: str) -> bytes:
    r"""Return a text in UTF-8; half of a surrogate pair becomes `\ud800`, as in JSON."""
    return content.encode("utf-8", "backslashreplace")


def json_document(value: Any) -> str:
    """Return a value as JSON in which nothing is a command, also for a runner that reads it from a file in its log."""
    text = encoded(json.dumps(value, indent=2, ensure_ascii=False))
    return _without_commands(text).decode() + "\n"


def json_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of JSON lines; for a runner, in the same values, with nothing in them that is a command."""
    if not _is_read_by_runner():
        yield from pieces
        return
    begun = b""
    for piece in pieces:
        text = _without_commands(begun + piece)
        begun = text[-_BEGUN:]
        yield text[:-_BEGUN]
    yield begun


def _without_commands(content: bytes) -> bytes:
    return _COMMAND_IN_JSON.sub(rb"\\u0023", content)


def stream(pieces: Iterable[bytes]) -> None:
    """Print the pieces of a document in UTF-8 as they come. On a terminal, what is no UTF-8 becomes U+FFFD.

    Raises `OutputLost` as soon as a piece can't be written.
    """
    if sys.stdout.isatty():
        texts = codecs.iterdecode(pieces, "utf-8", "replace")  # also shows a character that lacks its last bytes
        for text in texts:
            click.echo(shown(text), nl=False)
        return
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        if problem := standard_streams.problem_of(sys.stdout):
            raise OutputLost(f"Standard output: {problem.strerror}.")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their columns; where no person reads, without a heading and with tabs between the cells."""
    cells = [[shown(visible(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    lines = [columns, *cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for number, line in enumerate(lines):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        click.secho(text, bold=number == 0)


def progress(done: int, total: int) -> None:
    """Show on standard error how many replays have ended, in a line that the next one replaces."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[KReplayed {done} of {total or '?'}\r", nl=False, err=True)


def clear_progress() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)
