"""Tables: drawn on a terminal, tab-separated everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*columns)
    for row in rows:
        drawn.add_row(*map(Text, row))
    Console().print(drawn)
