"""The steps of a long test case are opened a chunk at a time."""

from __future__ import annotations

import pytest

from app.replay.case_types import CaseTurn, CheckedCall, TestCase
from app.web.forms import Form
from app.web.presenters.case_turns import CHUNK, TICKS_MAX, WHOLE_MAX, only_shown, opened_chunks, shown_chunks


def case(*steps: int) -> TestCase:
    return TestCase(turns=tuple(CaseTurn(user="", steps=(CheckedCall(name="look"),) * number) for number in steps))


def shown(opened: list[str], *steps: int, unfolded: int = 0) -> list[list[tuple[int, int, str, str]]]:
    chunks = shown_chunks(case(*steps), unfolded, opened)
    return [[(chunk.start, chunk.end, chunk.name, chunk.shown) for chunk in turn] for turn in chunks]


def test_a_long_turn_is_opened_a_chunk_at_a_time() -> None:
    assert shown(["2.1"], 3, CHUNK + 1, unfolded=1) == [
        [(0, 3, "1", "whole")],
        [(0, CHUNK, "2", "ticks"), (CHUNK, CHUNK + 1, "2.1", "whole")],
    ]


def test_only_so_many_chunks_are_open_at_once() -> None:
    opened = opened_chunks(Form({"opened": [str(n) for n in range(2, 40)], "open": ["50"]}), requested=1)

    assert opened == [str(n) for n in range(1, WHOLE_MAX + 2)]
    turns = shown(opened, *[1] * 50)
    assert [chunk[3] for turn in turns for chunk in turn].count("whole") == WHOLE_MAX


def test_steps_beyond_the_limit_of_a_test_case_have_no_tick() -> None:
    chunks = shown([], 3 * TICKS_MAX)[0]
    assert [chunk[3] for chunk in chunks].count("ticks") == TICKS_MAX // CHUNK
    assert chunks[-1][1] == 3 * TICKS_MAX


@pytest.mark.parametrize("text", ["", "x", "1.", "-1", "1.x", "1" * 6, "²"])
def test_what_names_no_chunk_opens_none(text: str) -> None:
    assert opened_chunks(Form({"open": [text]}), requested=None) == []


@pytest.mark.parametrize(
    ("sent", "requested", "shown"),
    [("", None, None), ("", 2, 2), ("2", None, 2), ("1", 2, 1), ("", 9, None), ("9", None, None), ("1.2", None, None)],
)
def test_a_page_shows_only_the_turn_of_its_address_or_of_its_form(
    sent: str, requested: int | None, shown: int | None
) -> None:
    assert only_shown(Form({"only": [sent]} if sent else {}), requested, case(1, 1)) == shown
