"""Prepared statements store what SQLAlchemy's own execution stores, on both databases."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.exc import DataError, IntegrityError

from app.database.transactions import Database
from app.models.base import Timestamp
from app.models.compression import CompressedText, compress_text, store_texts
from app.models.prepared import PreparedStatement
from tests.unit.work.conftest import database as database

_NOTES = Table(
    "prepared_notes",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("text", String(200), nullable=False),
    Column("state", String(10), server_default="new", nullable=False),
    Column("at", Timestamp),
)
_ONE = _NOTES.c.id == bindparam("note")
NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
TEXT = "100 % of it's \N{GRINNING FACE} %s :note ?\x00"


@pytest.fixture
def connection(database):
    _NOTES.create(database.engine)
    with database.write() as connection:
        yield connection
    _NOTES.drop(database.engine)


def rows(connection):
    return [tuple(row) for row in connection.execute(select(_NOTES).order_by(_NOTES.c.id))]


def test_an_insert_stores_its_values_and_returns_the_id(connection):
    add = PreparedStatement(insert(_NOTES))
    ids = [add.execute(connection, {"text": TEXT, "at": NOW}).lastrowid for _ in range(2)]

    assert rows(connection) == [(id_, TEXT, "new", NOW) for id_ in ids]


def test_other_columns_are_another_statement(connection):
    add = PreparedStatement(insert(_NOTES))
    add.execute(connection, {"text": "a", "at": NOW})
    add.execute(connection, {"state": "old", "text": "b"})

    assert [row[1:] for row in rows(connection)] == [("a", "new", NOW), ("b", "old", None)]


def test_values_and_conditions_of_the_statement_s_own_are_kept(connection):
    add, close = (
        PreparedStatement(insert(_NOTES)),
        update(_NOTES).where(_ONE, _NOTES.c.state == "new").values(state="closed"),
    )
    note = add.execute(connection, {"text": "a"}).lastrowid
    prepared = PreparedStatement(close)

    assert [prepared.execute(connection, {"note": note, "at": NOW}).rowcount for _ in range(2)] == [1, 0]
    assert rows(connection) == [(note, "a", "closed", NOW)]


def test_a_value_takes_the_place_of_the_statement_s_own(connection):
    note = PreparedStatement(insert(_NOTES)).execute(connection, {"text": "a"}).lastrowid
    PreparedStatement(update(_NOTES).where(_ONE).values(state="closed")).execute(
        connection, {"note": note, "state": "open"}
    )

    assert rows(connection) == [(note, "a", "open", None)]


def test_a_statement_with_a_list_is_executed_as_well(connection):
    notes = [PreparedStatement(insert(_NOTES)).execute(connection, {"text": text}).lastrowid for text in "ab"]
    close = PreparedStatement(update(_NOTES).where(_ONE, _NOTES.c.state.in_(["new", "open"])).values(state="closed"))

    assert [close.execute(connection, {"note": note, "at": NOW}).rowcount for note in (*notes, notes[0])] == [1, 1, 0]


def test_errors_are_those_of_sqlalchemy(connection):
    with pytest.raises((IntegrityError, DataError)):
        PreparedStatement(insert(_NOTES)).execute(connection, {"text": None})


def test_each_engine_has_its_own_way_to_store_a_text(database):
    """One statement serves databases whose texts are stored compressed, and others."""
    texts = Table("prepared_texts", MetaData(), Column("id", Integer, primary_key=True), Column("text", CompressedText))
    texts.create(database.engine)
    add = PreparedStatement(insert(texts))
    with database.engine.begin() as connection:
        add.execute(connection, {"text": "a" * 1000})
    plain = Database(create_engine(database.engine.url))
    store_texts(plain, compressed=False)
    with plain.engine.begin() as connection:
        add.execute(connection, {"text": "b" * 1000})
        stored = list(connection.scalars(select(type_coerce(texts.c.text, String)).order_by(texts.c.id)))
    plain.dispose()
    texts.drop(database.engine)

    assert [len(text) for text in stored] == [len(compress_text("a" * 1000)), 1000]
