"""The settings name each kind of row that a data policy removes."""

from __future__ import annotations

from app.models.data_policies import DataPolicy
from app.services.data.removal import _days_of_tables
from app.web.views.settings import LOST


def test_each_table_that_a_policy_removes_from_has_a_name() -> None:
    assert LOST.keys() == {"turns", *(table for table, _ in _days_of_tables(DataPolicy()))}
