"""Tables and progress, drawn on a terminal alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their columns; where no person reads, without a heading and with tabs between the cells."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    lines = [columns, *rows]
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
