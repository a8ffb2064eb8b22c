"""Two texts side by side."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.presenters.diffs import DiffBudget, DiffRow, DiffSide, diff_json, diff_rows
from tests.support.operations import calls_of

pytestmark = pytest.mark.slow

LINES = st.lists(st.text(alphabet="ab {}\t", max_size=8), min_size=1, max_size=20).map("\n".join)


def text_of(side: DiffSide) -> str:
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


@given(LINES, LINES)
def test_the_right_sides_are_the_new_text_and_the_left_sides_the_old_one(left: str, right: str) -> None:
    rows = diff_rows(left, right)
    lines = left.split("\n")
    applied: list[str] = []
    at = 0
    for row in rows:
        if row.kind == "folded":
            applied += lines[at : at + row.folded]
            at += row.folded
        applied += [text_of(row.right)] if row.right else []
        at += row.left is not None
    assert (applied == right.split("\n")) or left == right
    assert at == (len(lines) if rows else 0)


def test_a_line_that_moved_is_no_reason_to_lose_the_others() -> None:
    lines = [f"line {n}" for n in range(200)]
    rows = diff_rows("\n".join(lines), "\n".join([*lines[1:], lines[0]]))

    assert [(kind, old, new) for kind, old, new in shown(rows) if kind in ("removed", "added", "changed")] == [
        ("removed", "line 0", ""),
        ("added", "", "line 0"),
    ]


def test_more_rows_than_anybody_reads_are_cut_off_saying_so() -> None:
    rows = diff_rows("\n".join("a" for _ in range(3_000)), "b")

    assert [row.kind for row in rows] == ["changed"] + ["removed"] * (DiffBudget().rows - 1) + ["cut"]


def test_the_diffs_of_a_page_share_what_it_has_room_for() -> None:
    budget = DiffBudget(rows=3)

    assert [row.kind for row in diff_rows("a\nb", "c\nd", budget)] == ["changed", "changed"]
    assert [row.kind for row in diff_rows("a\nb", "c\nd", budget)] == ["changed", "cut"]
    assert [row.kind for row in diff_rows("a\nb", "c\nd", budget)] == ["cut"]


WORDS = ["lorem", "ipsum", "dolor", "sit", "amet"]


def spread(n: int, step: int) -> list[str]:
    """The same few words in different orders."""
    return [WORDS[at * at * step % 5] for at in range(n)]


def shuffled(n: int) -> list[str]:
    return random.Random(n).sample([str(at) for at in range(n)], n)


HOSTILE: dict[str, Callable[[int], tuple[str, str]]] = {
    "lines that are all the same": lambda n: ("a\n" * n, "a\n" * (n // 2) + "b\n" + "a\n" * (n // 2)),
    "few lines, repeated": lambda n: ("\n".join(spread(n, 1)), "\n".join(spread(n, 2))),
    "lines in another order": lambda n: ("\n".join(map(str, range(n))), "\n".join(shuffled(n))),
    "lines in reverse": lambda n: ("\n".join(map(str, range(n))), "\n".join(map(str, reversed(range(n))))),
    "other lines altogether": lambda n: ("\n".join(map(str, range(n))), "\n".join(f"x{at}" for at in range(n))),
    "stretches in stretches": lambda n: (
        "\n".join(f"{at} {at // 2} {at // 4}".replace(" ", "\n") for at in range(n // 3)),
        "\n".join(f"{at // 4} {at} {at // 2}".replace(" ", "\n") for at in range(n // 3)),
    ),
    "one line of one word": lambda n: ("a" * n, "b" * n),
    "one line of few words": lambda n: (" ".join(spread(n, 1)), " ".join(spread(n, 2))),
    "lines of few words": lambda n: (
        "\n".join(" ".join(spread(40, at)) for at in range(n // 40)),
        "\n".join(" ".join(spread(40, at + 2)) for at in range(n // 40)),
    ),
}


def work(left: str, right: str, *, at_most: int = 0) -> int:
    return calls_of(lambda: diff_rows(left, right), at_most=at_most)


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_text_needs_at_most_twice_the_work_to_compare(name: str) -> None:
    make = HOSTILE[name]
    bound = 2 * work(*make(4_000)) + 200
    assert work(*make(8_000), at_most=bound) <= bound


@pytest.mark.parametrize("name", HOSTILE)
def test_the_longest_texts_need_no_more_than_a_budget_beyond_reading_them(name: str) -> None:
    bound = 10 * 100_000 + 600_000
    assert work(*HOSTILE[name](100_000), at_most=bound) <= bound


def test_the_order_of_keys_is_no_difference() -> None:
    assert diff_json({"a": 1, "b": 2}, {"b": 2, "a": 1}) == []
    assert shown(diff_json({"a": 1}, {"a": 2})) == [
        ("same", "{", "{"),
        ("changed", '  "a": 1', '  "a": 2'),
        ("same", "}", "}"),
    ]
