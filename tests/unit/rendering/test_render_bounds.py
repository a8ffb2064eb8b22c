"""Texts made to be slow: twice of one needs at most twice the work."""

from __future__ import annotations

import pytest
from reprise_formats.xml import MARKS_IN_ALL, STEPS_MAX

from app.errors import Invalid
from app.rendering.render import to_xml
from tests.support.markdown import HOSTILE
from tests.support.operations import calls_of

pytestmark = pytest.mark.slow


def work(text: str, *, at_most: int = 0) -> int:
    return calls_of(lambda: to_xml(text), at_most=at_most)


def times(name: str) -> int:
    """Return how often the part occurs in some thousand characters."""
    return 4_000 // len(HOSTILE[name](1)) + 1


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_text_needs_at_most_twice_the_work_to_render(name: str) -> None:
    make, n = HOSTILE[name], times(name)
    bound = 2 * work(make(n)) + 200
    assert work(make(2 * n), at_most=bound) <= bound


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_needs_more_than_some_calls_a_character_and_for_each_mark_that_is_parsed(name: str) -> None:
    text = HOSTILE[name](times(name))
    bound = 60 * len(text) + 200 * min(len(text), MARKS_IN_ALL)
    assert work(text, at_most=bound) <= bound


def test_titles_are_parsed_up_to_a_number_of_marks_in_all() -> None:
    lines = to_xml("# a*b*\n" * 4_000).split("\n")
    assert [lines.count("<ab>"), lines.count("<a-b>")] == [2_500, 1_500]


def test_a_title_of_many_marks_is_used_unchanged() -> None:
    assert to_xml("# " + "a*b*" * 20).split("\n")[1] == f"<{'ab' * 20}>"
    assert to_xml("# " + "a*b*" * 21).split("\n")[1] == f"<{'-'.join(['a', *['b-a'] * 20, 'b'])}>"


@pytest.mark.parametrize("text", ["\n" * (STEPS_MAX + 1), "> " * STEPS_MAX, "-\n" * (STEPS_MAX // 2 + 1)])
def test_more_lines_and_blocks_than_anybody_writes_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match="lines, lists and quotes"):
        to_xml(text)


def test_a_long_prompt_of_ordinary_lines_is_far_from_that() -> None:
    assert to_xml("- Answer in the customer's language, and never promise what you can't keep.\n" * 25_000)
