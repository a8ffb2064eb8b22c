"""A flipped bit in the pages of a database's file is found by what `reprise doctor --deep` asks the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from app.database.damage import DAMAGES_MAX, damages
from app.database.engines import build_engine
from app.database.transactions import Database
from tests.support.mariadb import MariaDB, install

ROWS = 2000
PAGE = 4096


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = Database(build_engine(url))
    try:
        yield database
    finally:
        database.dispose()


def filled(url: str) -> None:
    """Make a table with an index; the value of row n is "value n" and 200 letters."""
    with opened(url) as database, database.write() as connection:
        connection.execute(text("CREATE TABLE kept (id INTEGER PRIMARY KEY, value VARCHAR(300), other INTEGER)"))
        connection.execute(text("CREATE INDEX ix_kept_other ON kept (other)"))
        rows = [{"id": n, "value": f"value {n:04} {'x' * 200}", "other": 7 * n} for n in range(1, ROWS + 1)]
        connection.execute(text("INSERT INTO kept (id, value, other) VALUES (:id, :value, :other)"), rows)
        assert not list(damages(database, ["kept"]))


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1 << 2
    file.write_bytes(content)


def test_a_flipped_bit_in_the_structure_of_a_sqlite_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "reprise.db"
    filled(f"sqlite:///{file}")
    undamaged = file.read_bytes()
    pages = len(undamaged) // PAGE
    assert pages > 100

    for page in range(1, pages):
        file.write_bytes(undamaged)
        flip(file, page * PAGE)  # what kind of page it is
        with opened(f"sqlite:///{file}") as database:
            assert 0 < len(list(damages(database, ["kept"]))) <= DAMAGES_MAX, page


def test_an_index_of_sqlite_that_differs_from_its_rows_is_found(tmp_path: Path) -> None:
    file = tmp_path / "reprise.db"
    filled(f"sqlite:///{file}")
    with opened(f"sqlite:///{file}") as database, database.read() as connection:
        root = connection.scalar(text("SELECT rootpage FROM sqlite_schema WHERE name = 'ix_kept_other'"))
    assert root
    flip(file, root * PAGE - 2)  # the last bytes of a page are the first key that it got

    with opened(f"sqlite:///{file}") as database:
        assert list(damages(database, ["kept"]))


@pytest.mark.services
def test_a_flipped_bit_in_a_page_of_mariadb_is_found(tmp_path: Path) -> None:
    install(tmp_path)
    with MariaDB(tmp_path) as server:
        name = server.create_database()
        filled(server.url(name))
        server.terminate()  # which writes all pages
    file = tmp_path / "data" / name / "kept.ibd"
    flip(file, file.read_bytes().index(b"value 0007") + 3)

    with MariaDB(tmp_path) as server, opened(server.url(name)) as database:
        found = list(damages(database, ["kept"]))

    assert found
    assert all(message.startswith("kept: ") for message in found)
