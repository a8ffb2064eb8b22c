"""Values reach MySQL, and come back, as mysqlclient's own cursor would write them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, text

from app.database.engines import build_engine
from app.database.transactions import Database

pytestmark = pytest.mark.services

# The module needs the MySQL driver, which is compiled, so not everywhere.
HEX_BYTES = pytest.importorskip("app.database.mysql_cursor", exc_type=ImportError).HEX_BYTES

ALL_BYTES = bytes(range(256))
HOSTILE = "'); DROP TABLE kept; -- \\ \" % %s %(x)s \0 \n \x1a 😀 é"


@pytest.fixture
def connection(mysql_url: str) -> Iterator[Connection]:
    """A connection with a table that holds bytes, a text and a number."""
    database = Database(build_engine(mysql_url))
    with database.write() as connection:
        connection.exec_driver_sql(
            "CREATE TEMPORARY TABLE kept (raw LONGBLOB, said LONGTEXT CHARACTER SET utf8mb4, number BIGINT)"
        )
        yield connection
    database.engine.dispose()


def written(connection: Connection, value: Any) -> Any:
    """Return what a query of only the value returns."""
    return connection.exec_driver_sql("SELECT %s", (value,)).scalar_one()


def by_the_driver(connection: Connection, value: Any) -> Any:
    """Return what the driver's own cursor returns for the value; bytes, which it writes as a text, are as they are."""
    from MySQLdb.cursors import Cursor

    if isinstance(value, bytes | memoryview):
        return bytes(value)
    driver: Any = connection.connection.driver_connection
    with driver.cursor(Cursor) as cursor:
        cursor.execute("SELECT %s", (value,))
        return cursor.fetchone()[0]


VALUES: dict[str, Any] = {
    "zero": 0,
    "least": -(2**63),
    "greatest": 2**64 - 1,
    "null": None,
    "bool": True,
    "float": 1.5,
    "decimal": Decimal("1.50"),
    "time": datetime(2026, 11, 25, 1, 2, 3, 4),  # noqa: DTZ001 - as the driver returns them
    "date": date(2026, 11, 25),
    "empty text": "",
    "text": "plain",
    "hostile text": HOSTILE,
    "long text": HOSTILE * 1000,
    "no bytes": b"",
    "NUL": b"\0",
    "all bytes": ALL_BYTES,
    "part of bytes": memoryview(ALL_BYTES)[1:],
    "longest in digits": ALL_BYTES * (HEX_BYTES // 256),
    "longer": ALL_BYTES * (HEX_BYTES // 256) + b"'",
    "long part": memoryview(ALL_BYTES * 1000)[1:],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_is_the_one_that_the_driver_writes(connection: Connection, value: Any) -> None:
    assert written(connection, value) == by_the_driver(connection, value)


def test_hundreds_of_rows_come_back_as_they_were_sent(connection: Connection) -> None:
    rows = [(bytes([n % 256]) * n, f"{n} {HOSTILE}", n - 100) for n in range(300)] + [(None, None, None)]
    places = ", ".join(["(%s, %s, %s)"] * len(rows))

    inserted = connection.exec_driver_sql(
        f"INSERT INTO kept VALUES {places}", tuple(value for row in rows for value in row)
    )

    assert inserted.rowcount == len(rows)
    assert [tuple(row) for row in connection.exec_driver_sql("SELECT raw, said, number FROM kept")] == rows


def test_bytes_are_compared_as_bytes(connection: Connection) -> None:
    """A literal of digits could be taken for a number."""
    connection.exec_driver_sql("INSERT INTO kept (raw) VALUES (%s), (%s)", (b"1", b"\0" * 7 + b"1"))
    statement = text("SELECT raw FROM kept WHERE raw IN :keys").bindparams(bindparam("keys", expanding=True))

    assert connection.scalars(statement, {"keys": [b"1", b"2"]}).all() == [b"1"]
    assert connection.exec_driver_sql("SELECT raw FROM kept WHERE raw > %s", (b"0",)).scalars().all() == [b"1"]


def test_a_query_without_values_may_have_percent_signs(connection: Connection) -> None:
    assert connection.exec_driver_sql("SELECT '100%'", execution_options={"no_parameters": True}).scalar() == "100%"
    assert connection.exec_driver_sql("SELECT CONCAT('100%%', %s)", (b"!",)).scalar() == b"100%!"
