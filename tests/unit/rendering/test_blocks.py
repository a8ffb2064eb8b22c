"""Block structure, with markdown-it as the second opinion."""

import re
import sys

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from reprise_formats.xml import FENCED, STEPS_MAX, title_of

from app.rendering.blocks import link_labels, scan
from app.values.budget import OverBudget, WorkBudget

# fmt: off
FRAGMENTS = [
    "> ", ">", "- ", "-", "* ", "1. ", "2. ", "10) ", "+", "  ", " ", "\t", "# ", "## a", "#", "# b #",
    "```", "~~~", "````", "```x", "a", "b", "text", "<div>", "<b>", "<!--", "-->", "</div>", "<?", "?>",
    "---", "***", "===",
]
# fmt: on
lines_of_fragments = st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=4).map("".join), max_size=8)

# A limit on nesting makes markdown-it drop the rest of a text; link definitions end its paragraphs early.
MARKDOWN = MarkdownIt("commonmark", {"maxNesting": 90}).disable(["lheading", "reference"])


def headings_of(text: str) -> list[tuple[int, str]]:
    lines = zip(text.split("\n"), scan(text), strict=True)
    return [(kind, title_of(line, kind)) for line, kind in lines if kind > 0]


def fenced_in(text: str) -> list[str]:
    return [line for line, kind in zip(text.split("\n"), scan(text), strict=True) if kind == FENCED]


@pytest.mark.slow
@settings(max_examples=500)
@given(lines_of_fragments)
def test_headings_and_fences_are_where_markdown_it_sees_them(lines):
    # markdown-it continues a quote at `>` however far it is indented; CommonMark allows three columns.
    assume(not any(re.search(r"(\t| {4})\s*>", line) for line in lines))
    tokens = MARKDOWN.parse("\n".join(lines) + "\n") if lines else []
    headings = {
        token.map[0]: (int(token.tag[1]), tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    }
    fenced = {number for token in tokens if token.type == "fence" for number in range(*token.map)}

    scanned = scan("\n".join(lines))

    assert {n: (kind, title_of(lines[n], kind)) for n, kind in enumerate(scanned) if kind > 0} == headings
    assert {n for n, kind in enumerate(scanned) if kind == FENCED} == fenced


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("###### six", (6, "six")),
        ("   # three spaces", (1, "three spaces")),
        ("#\ttab", (1, "tab")),
        ("# closed ##  ", (1, "closed")),
        ("# not#closed#", (1, "not#closed#")),
        (r"# escaped \#", (1, r"escaped \#")),
        ("#", (1, "")),
        ("## ##", (2, "")),
    ],
)
def test_an_atx_heading(line, heading):
    assert headings_of(line) == [heading]


@pytest.mark.parametrize(
    "text",
    [
        "####### seven",
        "#5 bolt",
        "#hashtag",
        "\\# escaped",
        "    # code",
        "\t# code",
        "text\n    # continued",
        "- # in a list",
        "- a\n\n  # in a list",
        "> # quoted",
        "1. a\n   # in a list",
        "-      code\n  # in a list",
        "-\n  # in a list",
        "- a\n\n\n  # in a list",
        "- \t# in a list",
        "<div>\n# in HTML\n</div>",
        "<!--\n\n# in a comment\n-->",
        "```\n# code\n```",
        "~~~\n# code, not closed",
        "````\n```\n# still code",
        "- ```\n  # code in a list",
        "#\rfoo",
    ],
)
def test_no_top_level_heading(text):
    assert headings_of(text) == []


@pytest.mark.parametrize(
    "before",
    [
        "text",
        "> quote",
        "- item",
        "<div>\n",
        "<!-- -->",
        "- ```",
        "> ```",
        "`` ``",
        "``` `",
        "```\n```",
        "---",
        "- " * 200 + "x",
    ],
)
def test_a_heading_follows(before):
    assert headings_of(f"{before}\n# A") == [(1, "A")]


@pytest.mark.parametrize(
    "text", ["-\n\n  # A", "-\n   \n  # A", "-\n # A", "> -\n>\n   # A", "text\n-\n  # A", "text\n2. b\n   # A"]
)
def test_a_heading_that_looks_like_a_part_of_a_list_but_is_not(text):
    assert headings_of(text) == [(1, "A")]


def test_a_line_of_dashes_or_equals_underlines_nothing():
    assert headings_of("Title\n---\nTitle\n===") == []


def test_a_fence_in_a_list_keeps_its_blank_lines_and_ends_with_the_item():
    assert fenced_in("- ```\n  a\n\n  b\n\nafter") == ["- ```", "  a", "", "  b", ""]


def test_a_quoted_fence_ends_with_the_quote():
    assert fenced_in("> ```\n> a\n\nb") == ["> ```", "> a"]


def test_labels_of_link_references_are_collected_only_where_they_are_definitions():
    text = "[One]: /1\n[two]: /2 'x'\nno\n[three]: /3\n\ntext\n[four]: /4\n\n```\n[five]: /5\n```\n> [six]: /6"
    assert link_labels(text) == {"ONE", "TWO", "SIX"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a\n",
        "> ",
        ">\n",
        "- ",
        "- a\n",
        "> # h\nfoo\n",
        "* x ",
        "[",
        "[a]: b 'x\n",
        "<a ",
        "<!--\n",
        "- ```\n",
        "\t",
        "``` ",
    ],
)
@pytest.mark.parametrize("before", ["", "> " * 20 + "a\n", "- " * 500 + "a\n", "> " + "- " * 500 + "a\n"])
def test_twice_the_text_needs_at_most_about_twice_the_steps(before, unit):
    once, twice = (_steps(before + unit * (size // len(unit))) for size in (3_000, 6_000))
    assert twice < 2.2 * once + 100


def _steps(text: str) -> int:
    """Count the lines of Python that a scan executes."""
    count = 0

    def trace(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        scan(text)
    finally:
        sys.settrace(previous)
    return count


@pytest.mark.parametrize("mark", [">", "- ", "1. ", "> * "])
def test_lines_below_many_open_quotes_and_lists_are_over_the_budget(mark):
    with pytest.raises(OverBudget):
        scan(mark * 30_000 + "a\n" + "a\n" * 30_000, WorkBudget(STEPS_MAX))


def test_a_few_quotes_and_lists_over_many_lines_are_within_the_budget():
    text = "> - " * 20 + "a\n" + "a\n" * 100_000 + "-" * 200 + "\n"
    assert set(scan(text, WorkBudget(STEPS_MAX))) == {0}
