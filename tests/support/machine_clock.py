"""The wall clock of child processes, put forward or back while they run; the speed of time does not change.

(libfaketime does the same, but lets Python's `time.sleep` fail where the monotonic clock is not changed.)
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
OFFSET = struct.Struct("=q")


def missing() -> str | None:
    """Return what this machine lacks to move clocks, or None."""
    return None if shutil.which("cc") else "a C compiler (cc) is not installed"


class MachineClock:
    """One wall clock for every process that is started with `environment`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        library, offset = folder / "machine_clock.so", folder / "offset"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True, capture_output=True)
        offset.write_bytes(OFFSET.pack(0))
        with offset.open("r+b") as file:
            self._offset = mmap.mmap(file.fileno(), OFFSET.size)
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(offset)}

    def put(self, seconds: int) -> None:
        """Let the clock be `seconds` ahead of the true time, or behind it when negative; 0 puts it right."""
        OFFSET.pack_into(self._offset, 0, seconds)
