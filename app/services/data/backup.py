"""Backs up the SQLite file of the embedded mode while it is in use, and restores it.

A backup is a SQLite database with one additional table, which has the secret key. Compressed texts need no other file:
their dictionaries are part of every release.
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
"""Called with the number of copied pages, and of all pages."""


def back_up(database: Path, file: Path, *, secret_key: str, on_progress: Progress) -> None:
    """Write the committed state of a database to a file; the file appears once it is complete and checked.

    Raises `Conflict` if the file exists, `NotFound` if there is no database, and `Invalid` if the database is damaged.
    An empty `secret_key` is stored as "".
    """
    if file.exists():
        raise Conflict(f"{file} already exists: choose another name, or remove it.")
    if _size(database) == 0:
        raise NotFound(f"There is nothing to back up: {database} is missing or empty.")
    with _scratch_beside(file) as scratch:
        _copy(database, scratch, on_progress)
        _check(scratch, "The database")
        with closing(_connect(scratch, "rw")) as connection:
            connection.execute("CREATE TABLE reprise_backup (secret_key TEXT NOT NULL)")
            connection.execute("INSERT INTO reprise_backup VALUES (?)", (secret_key,))
        # Fails if another program has created the file meanwhile.
        file.touch(exist_ok=False)
        _move(scratch, file)


def restore(file: Path, database: Path, *, keep_key: Callable[[str], None], on_progress: Progress) -> None:
    """Restore a database where none exists, or only an empty one; the caller has stopped all programs that use it.

    `keep_key` is called with the secret key, "" if the backup has none, before the database appears. Raises `Conflict`
    if there is a database, `NotFound` if there is no such file, and `Invalid` if it can't be restored.
    """
    if not file.is_file():
        raise NotFound(f"There is no file {file}.")
    _check_free(database)
    with _scratch_beside(database) as scratch:
        _copy(file, scratch, on_progress)
        if _check(scratch, str(file)) not in schema.revisions():
            raise Invalid(f"{file} is from a newer release of Reprise: restore it with that release.")
        keep_key(_take_key(scratch))
        _move(scratch, database)


def _check_free(database: Path) -> None:
    for suffix in ("", "-wal", "-journal"):
        # SQLite would apply the log of a former database to the restored one.
        if _size(rest := database.with_name(database.name + suffix)):
            raise Conflict(f"{rest} already exists: move it away, or set REPRISE_HOME to another folder.")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _scratch_beside(file: Path) -> Iterator[Path]:
    """Yield an empty file on the disk of `file` that only its owner can read; raises `Unavailable` for disk errors."""
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
    """Copy the committed state; later commits are not part of the copy."""
    with closing(_connect(source, "ro")) as reader, closing(_connect(target, "rw")) as writer:
        # Without a transaction SQLite would restart the copy after each change by another process.
        reader.execute("BEGIN")
        try:
            reader.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.DatabaseError as error:
            raise Invalid(f"{source} can't be read: {error}.") from error
        reader.backup(
            writer, pages=PAGES_AT_ONCE, progress=lambda _, remaining, total: on_progress(total - remaining, total)
        )
        # The copy becomes one file without a log, so that it can be read from a read-only disk.
        writer.execute("PRAGMA journal_mode=DELETE")


def _check(file: Path, name: str) -> str:
    """Return the revision of the schema; raises `Invalid` unless the file is an undamaged database of Reprise."""
    with closing(_connect(file, "ro")) as connection:
        try:
            damages = [damage for (damage,) in connection.execute("PRAGMA quick_check(1)") if damage != "ok"]
            revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise Invalid(f"{name} is not a database of Reprise, or is damaged: {error}.") from error
    if damages or not revision:
        raise Invalid(f"{name} is damaged: {damages[0] if damages else 'its schema has no revision'}.")
    return str(revision[0])


def _take_key(file: Path) -> str:
    """Return the secret key of a backup, "" if it has none, and remove its traces from the file."""
    with closing(_connect(file, "rw")) as connection:
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("CREATE TABLE IF NOT EXISTS reprise_backup (secret_key TEXT NOT NULL)")
        kept = connection.execute("SELECT secret_key FROM reprise_backup").fetchone()
        connection.execute("DROP TABLE reprise_backup")
    return str(kept[0]) if kept else ""


def _move(file: Path, target: Path) -> None:
    """Move a file durably: it survives a power cut."""
    file.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
