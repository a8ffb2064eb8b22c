"""Rows that are inserted in bulk are stored as the types of their columns store them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sqlalchemy import select

from app.database.engines import build_engine
from app.database.transactions import Database
from app.models import bulk, metadata
from app.models.insight import COLUMNS, insight_daily

DAY = date(2026, 1, 1).isoformat()


def test_names_are_stored_and_compared_without_blanks_at_their_end(tmp_path: Path) -> None:
    database = Database(build_engine(f"sqlite:///{tmp_path}/names.db"))
    metadata.create_all(database.engine, tables=[insight_daily])
    rows = [(1, 1, DAY, "v  ", "m ", b" "), (1, 1, DAY, " w", "", b"")]
    c = insight_daily.c
    with database.write() as connection:
        bulk.upsert(connection, "insight_daily", COLUMNS, rows, key=COLUMNS[:-1], update={"figures": "new"})
        bulk.upsert(connection, "insight_daily", COLUMNS, rows, key=COLUMNS[:-1], update={"figures": "new"})
        stored = connection.execute(select(c.version, c.model, c.figures).order_by(c.id)).all()
        of_padded = connection.execute(select(c.model).where(c.version == "v ")).all()
    database.engine.dispose()

    assert [tuple(row) for row in stored] == [("v", "m", b" "), (" w", "", b"")]
    assert [tuple(row) for row in of_padded] == [("m",)]
