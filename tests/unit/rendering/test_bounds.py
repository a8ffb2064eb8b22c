"""Texts made to take long: twice of one takes at most twice the work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.errors import Invalid
from app.rendering.render import _MARKS_IN_ALL, STEPS_MAX, to_xml
from tests.support.operations import calls_of

# Each takes how often its part is there.
HOSTILE: dict[str, Callable[[int], str]] = {
    "one title of brackets": lambda n: "# " + "[" * n,
    "titles of brackets": lambda n: ("# " + "[" * 298 + "\n") * n,
    "titles of images": lambda n: ("# " + "![" * 20 + "\n") * n,
    "titles of closed brackets": lambda n: "[a]: x\n\n" + ("# " + "[" * 20 + "a" + "]" * 20 + "\n") * n,
    "titles of links": lambda n: ("# " + "[a](" * 20 + "\n") * n,
    "titles of stars": lambda n: ("# " + "*_" * 20 + "\n") * n,
    "titles of stars and letters": lambda n: ("# " + "*a_" * 13 + "\n") * n,
    "titles of backticks": lambda n: ("# " + "` `` ``` " * 4 + "\n") * n,
    "titles of entities": lambda n: ("# " + "&amp;" * 40 + "\n") * n,
    "titles of comments": lambda n: ("# " + "<!--" * 40 + "\n") * n,
    "titles of addresses": lambda n: ("# " + "<a:" * 40 + "\n") * n,
    "titles of escapes": lambda n: ("# " + "\\[" * 20 + "\n") * n,
    "short titles": lambda n: "# *\n" * n,
    "quotes in a line": lambda n: "> " * n,
    "lists in a line": lambda n: "- " * n,
    "lines in a deep quote": lambda n: (">" * 30 + "\n") * n,
    "lines in a deep list": lambda n: "- " * 30 + "a\n" + ("  " * 30 + "a\n") * n,
    "a deep list and blank lines": lambda n: "- " * n + "a" + "\n" * n,
    "dashes": lambda n: "-" * n + "x",
    "spaced dashes": lambda n: "- " * n + "x",
    "lines of dashes": lambda n: "-\n" * n,
    "definitions": lambda n: "".join(f"[a{i:05}]: x\n" for i in range(n)),
    "definitions and titles": lambda n: "".join(f"[a{i:05}]: x\n\n# [a{i:05}]\n\n" for i in range(n)),
    "open definitions": lambda n: "[" * n,
    "open tags": lambda n: "<a\n" * n,
    "a tag of attributes": lambda n: "<a" + " b='c'" * n,
    "open comments": lambda n: "<!--\n" * n,
    "entities": lambda n: "&amp;" * n,
    "fences": lambda n: "~~~\n```\n" * n,
    "a long fence": lambda n: "`" * n,
    "white space": lambda n: " \t" * n + "x",
}


def work(text: str, *, at_most: int = 0) -> int:
    return calls_of(lambda: to_xml(text), at_most=at_most)


def times(name: str) -> int:
    """How often the part is there in some thousand characters."""
    return 4_000 // len(HOSTILE[name](1)) + 1


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_text_takes_at_most_twice_the_work(name: str) -> None:
    make, n = HOSTILE[name], times(name)
    bound = 2 * work(make(n)) + 200
    assert work(make(2 * n), at_most=bound) <= bound


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_more_than_some_calls_a_character_and_for_each_mark_that_is_parsed(name: str) -> None:
    text = HOSTILE[name](times(name))
    bound = 60 * len(text) + 200 * min(len(text), _MARKS_IN_ALL)
    assert work(text, at_most=bound) <= bound


def test_titles_are_parsed_up_to_a_number_of_marks_in_all() -> None:
    lines = to_xml("# a*b*\n" * 4_000).split("\n")
    assert [lines.count("<ab>"), lines.count("<a-b>")] == [2_500, 1_500]


def test_a_title_of_many_marks_is_taken_as_it_stands() -> None:
    assert to_xml("# " + "a*b*" * 20).split("\n")[1] == f"<{'ab' * 20}>"
    assert to_xml("# " + "a*b*" * 21).split("\n")[1] == f"<{'-'.join(['a', *['b-a'] * 20, 'b'])}>"


@pytest.mark.parametrize("text", ["\n" * (STEPS_MAX + 1), "> " * STEPS_MAX, "-\n" * (STEPS_MAX // 2 + 1)])
def test_more_lines_and_blocks_than_anybody_writes_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match="lines, lists and quotes"):
        to_xml(text)


def test_a_long_prompt_of_ordinary_lines_is_far_from_that() -> None:
    assert to_xml("- Answer in the customer's language, and never promise what you can't keep.\n" * 25_000)
