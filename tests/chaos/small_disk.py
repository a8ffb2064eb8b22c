"""A disk small enough to be filled: a file system in memory, where this process may mount one."""

from __future__ import annotations

import contextlib
import errno
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SIZE = "8g"
PIECE = b"\0" * (1 << 20)


@contextlib.contextmanager
def small_disk() -> Iterator[Path | None]:
    """An empty folder on it, in which temporary folders are made meanwhile; None where nothing can be mounted."""
    with tempfile.TemporaryDirectory(prefix="reprise-disk-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", folder]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            yield None
            return
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Nothing more fits on the disk, which is made smaller for that time: the filling needs memory."""
    filler = disk / "filler"
    _resize(disk, str(shutil.disk_usage(disk).used + 16 * len(PIECE)))
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(PIECE)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    try:
        yield
    finally:
        filler.unlink()
        _resize(disk, SIZE)


def _resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True, capture_output=True)
