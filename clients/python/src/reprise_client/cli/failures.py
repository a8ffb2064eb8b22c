"""The failure that ends a command with exit code 2. It is its own module because it must load without httpx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

BEGIN_OF_QUOTE = "\n  | "
"""Is before each line that a message quotes from a program."""


class CouldNotRun(click.ClickException):
    """A command has no result; it exits with code 2, as for wrong options.

    `status` is that of the answer, or None without one.
    """

    exit_code = 2

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RefusedRequest(CouldNotRun):
    """The server refuses the content of a request (400, 409, 413), so another request may still succeed."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Begin the message of a `CouldNotRun` with what could not run."""
    try:
        yield
    except CouldNotRun as problem:
        raise CouldNotRun(f"{what}: {problem.message}") from problem
