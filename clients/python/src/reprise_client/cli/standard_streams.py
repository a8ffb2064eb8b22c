"""Standard output and standard error of a command: text that can't be written is lost, and never the exit code."""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import sys
import time
from typing import Any, TextIO

_LOOK_S = 0.5
# A pipe that can be written to accepts so many bytes without blocking.
_CHUNK = getattr(select, "PIPE_BUF", 512)
# What replaces the ornaments of messages on a code page without them.
_PLAIN = {"·": "-", "…": "...", "→": "->", "–": "-", "—": "-", "»": '"', "«": '"', "κ": "kappa"}


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace the characters that a code page lacks: ornaments by plain ones, others as JSON and Python spell them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), error.end


codecs.register_error("reprise", _replace)


class LastingFile(io.FileIO):
    """A standard stream. After the first error it drops what is written to it, and keeps the error as `problem`.

    A full pipe counts as an error when it has accepted nothing for `patience_s` seconds; None is forever.
    """

    problem: OSError | None = None
    patience_s: float | None = None

    def write(self, content: Any, /) -> int:
        left = memoryview(content).cast("B")
        size, accepted_at = len(left), time.monotonic()
        while left and self.problem is None:
            try:
                written = super().write(left[:_CHUNK]) if self._is_ready() else None
            except OSError as error:
                self.problem = error
                break
            if written:
                left, accepted_at = left[written:], time.monotonic()
            elif self.patience_s is not None and time.monotonic() - accepted_at >= self.patience_s:
                self.problem = OSError(errno.EAGAIN, "Its reader does not read")
        return size

    def _is_ready(self) -> bool:
        """Wait for a moment until a write does not block; return whether it does not."""
        return sys.platform == "win32" or bool(select.select([], [self.fileno()], [], _LOOK_S)[1])


def protect() -> None:
    """Let no write to the standard streams of this process fail."""
    sys.stdout, sys.stderr = _protected(sys.stdout), _protected(sys.stderr)


def set_patience(seconds: float | None) -> None:
    """Set how long a reader may not read; 0 gives up on a pipe that is full now."""
    for stream in (sys.stdout, sys.stderr):
        if raw := _raw(stream):
            raw.patience_s = seconds


def problem_of(stream: TextIO) -> OSError | None:
    """Return the error since which what is written to a standard stream is lost."""
    raw = _raw(stream)
    return raw.problem if raw else None


def _protected(stream: TextIO | None) -> TextIO:
    if stream is None:  # it was closed before the command began
        raw = LastingFile(os.devnull, "wb")
        raw.problem = OSError(errno.EBADF, "It is closed")
    else:
        try:
            if sys.platform == "win32" and stream.isatty():
                return stream  # every character can be written to a console of Windows
            raw = LastingFile(stream.fileno(), "wb", closefd=False)
        except io.UnsupportedOperation:
            return stream  # no file of the system
    encoding = stream.encoding if stream else "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors="reprise", line_buffering=True)


def _raw(stream: TextIO) -> LastingFile | None:
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, LastingFile) else None
