"""Two texts side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.web.presenters.diffs import LINES_MAX, DiffRow, Side, diff_json, diff_rows

LINES = st.lists(st.text(alphabet="ab {}\t", max_size=8), min_size=1, max_size=20).map("\n".join)


def text_of(side: Side) -> str:
    return "".join(piece for _, piece in side.parts)


def shown(rows: list[DiffRow]) -> list[tuple[str, str, str]]:
    sides = ((row.kind, row.left, row.right) for row in rows)
    return [(kind, text_of(left) if left else "", text_of(right) if right else "") for kind, left, right in sides]


@given(LINES, LINES)
def test_every_line_of_both_sides_is_shown_in_order_or_folded_as_equal(left: str, right: str) -> None:
    rows = diff_rows(left, right)
    if left == right:
        assert rows == []
        return
    for at, text in enumerate((left, right)):
        lines, found, next_line = text.split("\n"), 0, 1
        for row in rows:
            side = (row.left, row.right)[at]
            if row.kind == "folded":
                next_line += row.folded
                found += row.folded
            elif side is not None:
                assert (side.number, text_of(side)) == (next_line, lines[next_line - 1])
                next_line += 1
                found += 1
        assert found == len(lines)


@given(LINES, LINES)
def test_same_rows_are_the_same_and_changed_ones_are_not(left: str, right: str) -> None:
    for kind, old, new in shown(diff_rows(left, right)):
        assert kind in ("same", "changed", "removed", "added", "folded")
        assert (old == new) == (kind in ("same", "folded")) or kind in ("removed", "added")


def test_the_words_that_differ_are_marked() -> None:
    (row,) = diff_rows("Answer in a formal tone.", "Answer in a friendly tone.")

    assert row.left is not None
    assert row.right is not None
    assert [piece for differs, piece in row.left.parts if differs] == ["formal"]
    assert [piece for differs, piece in row.right.parts if differs] == ["friendly"]


def test_lines_with_little_in_common_differ_as_a_whole() -> None:
    (row,) = diff_rows("Be brief.", "Promise nothing to anybody whatsoever, ever")

    assert row.left is not None
    assert row.left.parts == [(False, "Be brief.")]


def test_what_lies_far_from_a_change_is_folded() -> None:
    lines = [str(n) for n in range(100)]
    rows = diff_rows("\n".join(lines), "\n".join([*lines[:50], "new", *lines[51:]]))

    assert [row.folded for row in rows if row.kind == "folded"] == [47, 46]
    assert [row.kind for row in rows if row.kind != "folded"] == ["same"] * 3 + ["changed"] + ["same"] * 3


def test_texts_too_long_to_compare_are_put_beside_each_other() -> None:
    rows = diff_rows("\n".join("a" for _ in range(LINES_MAX)), "b")

    assert [row.kind for row in rows] == ["changed"] + ["removed"] * (LINES_MAX - 1)


def test_the_order_of_keys_is_no_difference() -> None:
    assert diff_json({"a": 1, "b": 2}, {"b": 2, "a": 1}) == []
    assert shown(diff_json({"a": 1}, {"a": 2})) == [
        ("same", "{", "{"),
        ("changed", '  "a": 1', '  "a": 2'),
        ("same", "}", "}"),
    ]
