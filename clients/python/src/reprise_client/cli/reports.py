"""Writes the reports that pipelines read."""

from __future__ import annotations

from pathlib import Path

from reprise_client.cli import terminal
from reprise_client.cli.remote import CouldNotRun


def write(target: Path, content: str) -> None:
    """Write a report to a file, and make its folder, or for `-` to standard output. Raises `CouldNotRun`."""
    if str(target) == "-":
        terminal.document(content)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise CouldNotRun(f"{target}: {error.strerror}.") from error
