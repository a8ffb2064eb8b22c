"""Records what a program writes and syncs, and makes the files that a power cut at any of these moments leaves.

A synced write is on the disk. Of other writes a random part is, and the last of a file may be torn between two sectors
of 512 bytes. A file that was made since its folder was synced may be missing.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
HEAD = struct.Struct("=qqqq")
SECTOR = 512


def missing() -> str | None:
    """Return what this machine lacks to record writes, or None."""
    return None if shutil.which("cc") else "a C compiler (cc) is not installed"


@dataclass(frozen=True, slots=True)
class Record:
    """`kind` is W for a write, T for a truncation, S for a sync, U for an unlink, N for a note of the test.

    `place` is the offset of a write, the new size of a truncation, and for a sync the position in the log until which
    the writes of the file are on the disk. `position` is where the record begins in the log.
    """

    kind: str
    path: str
    place: int
    data: bytes
    position: int


class Recorder:
    """Records the writes below a folder of each program that is started with `environment`."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder, self._log, self._before = folder, tools / "written.log", tools / "before"
        library = tools / "written.so"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True, capture_output=True
        )
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "WRITTEN_FOLDER": str(folder),
            "WRITTEN_LOG": str(self._log),
        }

    def begin(self) -> None:
        """Copy the folder. All its files must be on the disk, and no program may write to it yet."""
        shutil.copytree(self.folder, self._before)

    def note(self, text: str) -> None:
        """Record that something has happened by now, such as an acknowledgement."""
        with self._log.open("ab", buffering=0) as log:
            data = text.encode()
            log.write(HEAD.pack(ord("N"), 0, 0, len(data)) + data)

    def records(self) -> Iterator[Record]:
        content, position = self._log.read_bytes(), 0
        while position < len(content):
            kind, path, place, length = HEAD.unpack_from(content, position)
            begin = position + HEAD.size
            end = begin + path + length
            yield Record(
                chr(kind), content[begin : begin + path].decode(), place, content[begin + path : end], position
            )
            position = end

    def cut(self, records: Sequence[Record], chooser: random.Random, target: Path) -> set[str]:
        """Make in `target` what the disk has after a power cut that follows the records; return the notes in these."""
        shutil.copytree(self._before, target)
        changes = defaultdict[str, list[Record]](list)
        synced = dict[str, int]()
        for record in records:
            if record.kind == "S":
                synced[record.path] = max(record.place, synced.get(record.path, 0))
            elif record.kind != "N":
                changes[record.path].append(record)
        for path, changed in changes.items():
            file = target / Path(path).relative_to(self.folder)
            is_known = file.exists() or synced.get(str(Path(path).parent), 0) > changed[0].position
            if is_known or chooser.random() < 1 / 2:
                _write(file, changed, synced.get(path, 0), chooser)
        return {record.data.decode() for record in records if record.kind == "N"}


def _write(file: Path, changes: Sequence[Record], synced: int, chooser: random.Random) -> None:
    content = bytearray(file.read_bytes()) if file.exists() else bytearray()
    for change in changes:
        is_synced = change.position < synced
        if change.kind == "U":
            content.clear()
        elif not is_synced and chooser.random() < 1 / 2:
            continue
        elif change.kind == "T":
            content[:] = content[: change.place].ljust(change.place, b"\0")
        else:
            torn = not is_synced and chooser.random() < 1 / 4
            length = chooser.randrange(0, len(change.data) + 1, SECTOR) if torn else len(change.data)
            content.extend(b"\0" * (change.place - len(content)))
            content[change.place : change.place + length] = change.data[:length]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
