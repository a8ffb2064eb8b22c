"""Writes the reports that pipelines read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun


def write(reports: Iterable[tuple[Path, str]], exit_code: int) -> int:
    """Write reports to files, and those for `-` to standard output. Return the exit code.

    It is that of the verdict, but 2 if a file could not be written. Each report is tried, the files first.
    """
    for target, content in sorted(reports, key=lambda report: str(report[0]) == "-"):
        try:
            if str(target) == "-":
                terminal.document(content)
            else:
                write_file(target, content)
        except terminal.OutputLost as lost:  # no reason for another exit code than the verdict's
            terminal.echo(f"Warning: {lost.message}", err=True)
        except CouldNotRun as problem:
            terminal.echo(f"Error: {problem.message}", err=True)
            exit_code = problem.exit_code
    return exit_code


def write_file(target: Path, content: str) -> None:
    """Write a file in UTF-8, and make its folder. Raises `CouldNotRun`."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(terminal.encoded(content))
    except OSError as error:
        raise CouldNotRun(f"{target}: {error.strerror}.") from error
