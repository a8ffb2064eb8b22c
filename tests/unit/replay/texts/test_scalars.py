"""Texts are compared by their letters, in time that grows in step with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.scalars import letters
from tests.support.operations import calls_of

MANY = 2_000
# In parts, which would each be looked at again by a comparison that does not grow in step with its text.
SHAPES: dict[str, Callable[[int], str]] = {
    "hyphens": lambda count: "1" + "-" * count + "1",
    "signs": lambda count: "-" + "$" * count + "1",
    "hyphens and signs": lambda count: "a" + "-$" * count + "1",
    "hyphens, then signs": lambda count: "-" * count + "$" * count + "1",
    "spaces": lambda count: "1 \N{NO-BREAK SPACE}" * count,
    "combining marks": lambda count: "a" + "\u0301" * count + "\u0323" * count,
    "surrogate halves": lambda count: "\ud800" * count,
    "ligatures": lambda count: "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * count,
}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("5 - 3", "5 3"),
        ("5-3", "5-3"),
        ("-3", "-3"),
        ("- $ 3", "$3"),
        ("-$3", "-$3"),
        ("a -$3", "a-$3"),
        ("a-3", "a3"),
        ("--3", "-3"),
        ("1.5", "1.5"),
        ("1, 5", "1 5"),
        ("ab-cd", "abcd"),
        ("3-", "3"),
    ],
)
def test_signs_of_numbers_are_kept(text: str, kept: str) -> None:
    assert letters(text) == kept


def signs_of(run: str, before: str, after: str) -> str:
    """Return what is kept of a run, read sign by sign."""
    kept = ""
    for index, char in enumerate(run):
        minus = char == "-" and after.isdecimal() and (index or not before) and not run[index + 1 :].strip("$%")
        kept += char if char in "$%" or minus else ""
    between_numbers = before.isdecimal() and after.isdecimal() and not kept
    return (" " if " " in run else run) if between_numbers else kept


@given(st.sampled_from(["", "a", "1"]), st.text(st.sampled_from("-$%.,"), min_size=1), st.sampled_from(["", "a", "1"]))
def test_of_a_run_the_signs_and_the_minus_before_a_number_are_kept(before: str, run: str, after: str) -> None:
    assert letters(before + run + after) == before + signs_of(run, before, after) + after


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_twice_the_text_needs_twice_the_steps(shape: Callable[[int], str]) -> None:
    steps = [calls_of(lambda count=count: letters(shape(count))) for count in (MANY, 2 * MANY)]  # type: ignore[misc]
    assert steps[1] <= 2.2 * steps[0] + 200


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("shape", ["hyphens", "combining marks"])
def test_a_run_of_a_million_ends_within_a_minute_and_not_within_hours(shape: str) -> None:
    """C code copies and sorts these, which no count of calls shows."""
    assert letters(SHAPES[shape](1_000_000))
