"""Backs up the SQLite file of the embedded mode while it is served, and restores it.

A backup is a SQLite database with one table more, which has the secret key. Compressed texts need nothing else: their
dictionaries are part of every release.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from app.errors import Conflict, Invalid, NotFound, Unavailable
from app.models import schema

PAGES_AT_ONCE = 4096
Progress = Callable[[int, int], None]
"""Takes the number of pages that are copied and of all pages."""


def back_up(database: Path, file: Path, *, secret_key: str, on_progress: Progress) -> None:
    """Write the state of a database, as it is committed now, to a file that appears when it is complete and checked.

    Raises `Conflict` if the file exists, `NotFound` if there is no database, `Invalid` if it is damaged. A secret key
    of "" is left out.
    """
    if file.exists():
        raise Conflict(f"{file} exists already: choose another name, or remove it.")
    if _size(database) == 0:
        raise NotFound(f"There is nothing to back up: {database} is not there or is empty.")
    with _scratch_beside(file) as scratch:
        _copy(database, scratch, on_progress)
        _check(scratch, "The database")
        with closing(_connect(scratch, "rw")) as connection:
            connection.execute("CREATE TABLE reprise_backup (secret_key TEXT NOT NULL)")
            connection.execute("INSERT INTO reprise_backup VALUES (?)", (secret_key,))
        # Should another program have made the file meanwhile, it stays.
        file.touch(exist_ok=False)
        _move(scratch, file)


def restore(file: Path, database: Path, *, keep_key: Callable[[str], None], on_progress: Progress) -> None:
    """Put a database in the place of one that is missing or empty. The caller has stopped whatever uses it.

    `keep_key` stores the secret key, "" where the backup has none; the database is not there yet if it raises. Raises
    `Conflict` if there is a database, `NotFound` if there is no such file, `Invalid` if it can't be restored.
    """
    if not file.is_file():
        raise NotFound(f"There is no file {file}.")
    _check_free(database)
    with _scratch_beside(database) as scratch:
        _copy(file, scratch, on_progress)
        if _check(scratch, str(file)) not in schema.revisions():
            raise Invalid(f"{file} is of a newer release of Reprise: restore it with that one.")
        keep_key(_take_key(scratch))
        _move(scratch, database)


def _check_free(database: Path) -> None:
    for suffix in ("", "-wal", "-journal"):
        # SQLite would take the rest of a former database for changes of the restored one.
        if _size(rest := database.with_name(database.name + suffix)):
            raise Conflict(f"{rest} is there already: move it away, or set REPRISE_HOME to another folder.")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _scratch_beside(file: Path) -> Iterator[Path]:
    """Yield an empty file on the disk of `file` that only its owner can read; turn faults of the disk into messages."""
    try:
        with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
            scratch = Path(folder, "copy.db")
            scratch.touch(mode=0o600)
            yield scratch
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(f"{file} could not be written: {error}") from error


def _connect(file: Path, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
    uri = f"{file.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)


def _copy(source: Path, target: Path, on_progress: Progress) -> None:
    """Copy the committed state. Later commits wait in SQLite's log and are no part of the copy."""
    with closing(_connect(source, "ro")) as reader, closing(_connect(target, "rw")) as writer:
        # Without a transaction SQLite would begin to copy anew after each change by another process.
        reader.execute("BEGIN")
        try:
            reader.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.DatabaseError as error:
            raise Invalid(f"{source} can't be read: {error}.") from error
        reader.backup(
            writer, pages=PAGES_AT_ONCE, progress=lambda _, remaining, total: on_progress(total - remaining, total)
        )
        # A copy is one file without a log, which can be read from a read-only disk.
        writer.execute("PRAGMA journal_mode=DELETE")


def _check(file: Path, name: str) -> str:
    """Return the revision of the schema; raises `Invalid` unless the file is a database of Reprise and not damaged."""
    with closing(_connect(file, "ro")) as connection:
        try:
            damages = [damage for (damage,) in connection.execute("PRAGMA quick_check(1)") if damage != "ok"]
            revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise Invalid(f"{name} is no database of Reprise, or is damaged: {error}.") from error
    if damages or not revision:
        raise Invalid(f"{name} is damaged: {damages[0] if damages else 'its schema has no revision'}.")
    return str(revision[0])


def _take_key(file: Path) -> str:
    """Return the secret key of a backup, "" where it has none, and remove its traces from the file."""
    with closing(_connect(file, "rw")) as connection:
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("CREATE TABLE IF NOT EXISTS reprise_backup (secret_key TEXT NOT NULL)")
        kept = connection.execute("SELECT secret_key FROM reprise_backup").fetchone()
        connection.execute("DROP TABLE reprise_backup")
    return str(kept[0]) if kept else ""


def _move(file: Path, target: Path) -> None:
    """Move a file, so that it is there after a power cut."""
    file.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
