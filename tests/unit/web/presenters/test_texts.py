"""Texts and JSON values on pages: cut where they are long, and JSON in folds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.filters import indented
from app.web.presenters.marks import marks_of
from app.web.presenters.texts import block, excerpt, folds
from tests.support.operations import calls_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.sampled_from(["{", "[", "}", "a\n]"]),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=3), inner, max_size=8),
    max_leaves=60,
)


@given(JSON)
def test_folds_keep_the_text_and_end_in_order(value: Any) -> None:
    pieces = list(folds(indented(value)))

    assert "".join(text for _, text in pieces) == indented(value)
    depth = 0
    for kind, _ in pieces:
        depth += {"text": 0, "close": -1}.get(kind, 1)
        assert depth >= 0
    assert depth == 0


def test_a_long_list_within_a_value_is_folded_from_the_start() -> None:
    kinds = [kind for kind, _ in folds(indented({"few": list(range(6)), "many": list(range(60)), "two": [1, 2]}))]

    assert [kind for kind in kinds if kind != "text"] == ["open", "close", "folded", "close"]


def test_json_that_was_cut_off_has_no_fold_without_an_end() -> None:
    shown = block({"a": list(range(3000))}, 1000)

    assert shown.cut
    assert [kind for kind, _ in shown.pieces] == ["text"]


@pytest.mark.parametrize(
    ("text", "start"),
    [("short", "short"), ("word " * 400, ("word " * 200)[:-1]), ("x" * 2000, "x" * 1000), ("\n" * 2000, "\n" * 24)],
)
def test_a_long_text_is_cut_between_words_and_after_some_lines(text: str, start: str) -> None:
    assert excerpt(text, 1000, 25) == start


def test_a_text_that_holds_json_is_shown_as_its_value_where_that_is_asked_for() -> None:
    assert block('{"a": 1}').kind == "text"
    assert block('{"a": 1}', parse=True).source == '{\n  "a": 1\n}'
    assert block("{a: 1}", parse=True).kind == "text"


def test_markdown_with_words_to_mark_is_shown_as_text() -> None:
    marks = marks_of("refund")

    assert block("A **refund**.", markdown=True).marked(marks).kind == "text"
    assert block("A **price**.", markdown=True).marked(marks).kind == "markdown"
    assert block("A **refund**.", markdown=True).marked(marks_of("")).kind == "markdown"


def test_marks_are_looked_for_in_the_shown_part_of_a_long_text_only() -> None:
    def calls(words: int) -> int:
        shown = block("a b " * words, markdown=True)
        return calls_of(lambda: shown.marked(marks_of("zebra")))

    assert calls(100_000) == calls(1_000)
    assert block("a " * 5_000 + "zebra", markdown=True).marked(marks_of("zebra")).kind == "markdown"
