"""What sessions do, in words."""

from __future__ import annotations

import pytest

from app.suites.features import PAIR_MARK, Feature
from app.suites.phrases import phrase


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        (Feature("order", "find"), "call only `find`"),
        (Feature("order", f"find{PAIR_MARK}refund"), "call only `find`, then `refund`"),
        (Feature("order", "find, refund"), "call only `find` and `refund`"),
        (Feature("order", ""), "call no tool"),
        (Feature("tool", "find"), "call `find`"),
    ],
)
def test_the_order_of_a_session_names_all_tools_that_it_calls(feature: Feature, words: str) -> None:
    assert phrase(feature) == words
