"""A model that misbehaves is caught, and one that only varies is not, on every recording."""

from __future__ import annotations

import pytest

from tests.gate.table import KNOWN, Row, of_page, rendered, rows


@pytest.fixture(scope="module")
def table() -> list[Row]:
    return rows()


def test_every_misbehaviour_fails_and_every_harmless_variation_passes(table: list[Row]) -> None:
    print(rendered(table))

    assert [row.name for row in table if row.wrong and row.name not in KNOWN] == []
    assert [row.name for row in table if not row.replays] == []
    assert [name for name in KNOWN if name not in {row.name for row in table if row.wrong}] == []


def test_the_page_shows_the_table_that_the_gate_gives(table: list[Row]) -> None:
    assert of_page() == rendered(table), "run python -m tests.gate.table"


def test_there_are_enough_misbehaviours_variations_and_recordings(table: list[Row]) -> None:
    assert sum(not row.is_right for row in table) >= 60
    assert sum(row.is_right for row in table) >= 30
    assert len({conversation for row in table for conversation in row.judged}) >= 8
