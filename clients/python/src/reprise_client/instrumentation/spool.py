"""Keeps batches of spans as files until Reprise has stored them.

A file gets its name when it is complete, so that a process may be killed at any line: what has a name can be sent, by
this process, by another that shares the folder, or by the next one. The files hold messages, so only their
owner may read them; they hold neither the key nor the address.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reprise_client.instrumentation.file_lock import try_lock

_NAME = re.compile(r"(\d{20})-(\d{1,9})-[0-9a-f]{16}\.json\.gz")
_UNFINISHED = ".tmp"
_UNFINISHED_MAX_AGE_S = 3600
_LOCK = "lock"


@dataclass(frozen=True)
class Limits:
    """Limits of the batches that wait to be sent; beyond them the oldest are removed."""

    max_bytes: int = 256 * 1024 * 1024
    max_age_s: float = 7 * 24 * 3600
    max_batches: int = 20_000


class Spool:
    """The batches in one folder, the oldest first. Any number of processes may use the folder at once."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self._limits = limits
        # The folder is counted before the first batch, and again after each eighth of what it may hold.
        self._bytes_unchecked, self._batches_unchecked = limits.max_bytes, limits.max_batches
        self._unwanted: set[str] = set()

    def put(self, body: bytes, spans: int) -> int:
        """Keep a batch; returns the spans of older batches that had to go. Raises OSError when it can't be written."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{time.time_ns():020d}-{spans}-{secrets.token_hex(8)}.json.gz"
        unfinished = self.folder / (name + _UNFINISHED)
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(body)
            unfinished.replace(self.folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise
        return self._trim_at_times(len(body))

    def names(self) -> list[str]:
        """Return the names of the batches, the oldest first; none where the folder can't be read."""
        with contextlib.suppress(OSError):
            names = {path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)}
            return sorted(names - self._unwanted)
        return []

    def read(self, name: str) -> bytes | None:
        """Return the body of a batch; None if another process has sent it meanwhile."""
        with contextlib.suppress(OSError):
            return (self.folder / name).read_bytes()
        return None

    def remove(self, name: str) -> None:
        """Forget a batch that was sent, or that is not wanted.

        The file stays where the disk has become read-only. The next process sends it again.
        """
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError:
            self._unwanted.add(name)

    @contextlib.contextmanager
    def sending(self) -> Iterator[bool]:
        """Yield whether this process is the one that sends now, so that batches go in order and once.

        Nothing breaks where two send at once: Reprise stores a span once.
        """
        with try_lock(self.folder / _LOCK) as locked:
            yield locked

    def trim(self) -> int:
        """Remove what is more than the limits; returns the spans that were lost with it."""
        size = lost = 0
        oldest_ns = time.time_ns() - int(self._limits.max_age_s * 1e9)
        for batches, (name, length) in enumerate(reversed(self._sizes()), 1):
            size += length
            too_many = size > self._limits.max_bytes or batches > self._limits.max_batches
            if too_many or int(name[:20]) < oldest_ns:
                self.remove(name)
                lost += spans_of(name)
        self._bytes_unchecked = self._batches_unchecked = 0
        self._remove_unfinished()
        return lost

    def _trim_at_times(self, added: int) -> int:
        self._bytes_unchecked += added
        self._batches_unchecked += 1
        due = self._bytes_unchecked * 8 > self._limits.max_bytes
        return self.trim() if due or self._batches_unchecked * 8 > self._limits.max_batches else 0

    def _sizes(self) -> list[tuple[str, int]]:
        sizes = []
        for name in self.names():
            with contextlib.suppress(OSError):
                sizes.append((name, (self.folder / name).stat().st_size))
        return sizes

    def _remove_unfinished(self) -> None:
        """Remove what processes left that were killed while they wrote."""
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"*{_UNFINISHED}"):
                if time.time() - path.stat().st_mtime > _UNFINISHED_MAX_AGE_S:
                    path.unlink()


def spans_of(name: str) -> int:
    """Return the number of spans in the batch of this name."""
    match = _NAME.fullmatch(name)
    return int(match[2]) if match else 0
