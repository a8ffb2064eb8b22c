import re
import xml.etree.ElementTree as ET
from xml.dom import minidom

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.rendering.blocks import scan
from app.rendering.render import to_xml

# fmt: off
FRAGMENTS = [
    "# ", "## ", "###### ", "   # ", "- ", "> ", "```", "~~~", "---", "***", "<b>", "</b>", "<!--", "&amp;",
    "&", "<", ">", "]]>", "<![CDATA[", "<?xml?>", "[a](b)", "![c](d)", "`x`", "*e*", "1", "ж", "ー", "é", "🚀",
    "\n", "\n", "\n\n", "\r\n", "\r", "\t", " ", "    ", "\x00", "\x0b", "\x0c", "\x1f", "\x7f", "\x85",
    "\u2028", "\ufeff", "\ufffe", "\ud800", "\U0010ffff", "xml", ":",
]
# fmt: on
markdown = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS)).map("".join))


def body(text: str) -> list[str]:
    """The lines between the root's tags."""
    lines = to_xml(text).split("\n")
    assert (lines[0], lines[-1]) == ("<instructions>", "</instructions>")
    return lines[1:-1]


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        ("", "<instructions>\n</instructions>"),
        ("# Role\nBe helpful", "<instructions>\n<role>\nBe helpful\n</role>\n</instructions>"),
        (
            "# A\n## B\n### C\n## D\n# E",
            "<instructions>\n<a>\n<b>\n<c>\n</c>\n</b>\n<d>\n</d>\n</a>\n<e>\n</e>\n</instructions>",
        ),
        (
            "Intro\n\n# Rule #1: Do & Don't\n> a < b\n---\n* x",
            "<instructions>\nIntro\n<rule-1-do-don-t>\n&gt; a &lt; b\n* x\n</rule-1-do-don-t>\n</instructions>",
        ),
        ("# 1. Роль\nx", "<instructions>\n<_1-роль>\nx\n</_1-роль>\n</instructions>"),
    ],
)
def test_the_examples_of_the_specification(text, instruction):
    assert to_xml(text) == instruction


def test_a_shallower_heading_closes_all_deeper_elements_and_levels_may_be_skipped():
    assert body("#### D\n## B\n###### F\n# A") == ["<d>", "</d>", "<b>", "<f>", "</f>", "</b>", "<a>", "</a>"]


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("# **Bold** and `code`", "bold-and-code"),
        ("# See [the docs](http://example.com/a)", "see-the-docs"),
        ("# See [the docs][1]\n[1]: http://example.com", "see-the-docs"),
        ("# See [the docs][1]", "see-the-docs-1"),
        ("# ![a *logo*](x.png) Home", "a-logo-home"),
        ("# Up<br>per", "upper"),
        ("# <b>", "section"),
        ("# <http://example.com>", "http-example-com"),
        ("# R&eacute;sum&#233;", "résumé"),
        (r"# a \*b\*", "a-b"),
        ("# snake_case_name", "snake-case-name"),
        ("# {{user_name}}", "user-name"),
        ("# ...", "section"),
        ("#", "section"),
    ],
)
def test_a_title_is_the_text_without_inline_markup(heading, name):
    assert body(heading)[0] == f"<{name}>"


@pytest.mark.slow
def test_a_very_long_title_is_used_unchanged():
    title = "*" + "[a](b) " * 100_000
    assert body(f"# {title}")[0] == "<" + "-".join(["a-b"] * 100_000) + ">"


def test_headings_that_are_not_at_the_top_level_stay_lines():
    text = "- # In a list\n> # Quoted\n\n    # Code\n\n<div>\n# HTML\n</div>"
    assert body(text) == [
        "- # In a list",
        "&gt; # Quoted",
        "    # Code",
        "&lt;div&gt;",
        "# HTML",
        "&lt;/div&gt;",
    ]


def test_inside_a_fence_nothing_is_dropped_and_nothing_is_a_heading():
    text = "```md\n# a\n\n---\n<x>\n```\n\n---\nb"
    assert body(text) == ["```md", "# a", "", "---", "&lt;x&gt;", "```", "b"]


def test_a_fence_that_is_never_closed_reaches_the_end():
    assert body("~~~\n\n# a\n  \n") == ["~~~", "", "# a", "  "]


@pytest.mark.parametrize("line", ["", "  ", "\t", "---", "  ---", "--- \t", "     ---"])
def test_blank_lines_and_separators_are_dropped(line):
    assert body(f"a\n{line}\nb") == ["a", "b"]


@pytest.mark.parametrize("line", ["----", "- - -", "***", "===", "--", "- ---", "\u00a0", "\rx"])
def test_other_lines_that_look_alike_are_kept(line):
    assert f"\n{line}\n" in to_xml(f"a\n{line}\nb")


def test_only_lf_and_crlf_end_a_line():
    text = "# A\r\none\rtwo\x85three\u2028# four\u2029five\r\n"
    assert body(text) == ["<a>", "one\rtwo\x85three\u2028# four\u2029five", "</a>"]


def test_characters_that_xml_forbids_are_replaced():
    assert body("a\x00b\x0cc\x1fd\ud800e\uffff") == ["a\ufffdb\ufffdc\ufffdd\ufffde\ufffd"]


def test_a_byte_order_mark_is_text():
    assert body("\ufeff# A") == ["\ufeff# A"]


def test_a_heading_after_very_deep_nesting_still_opens_an_element():
    assert body("- a " * 5_000 + "\n" + ">" * 5_000 + "\n\n# A")[-2:] == ["<a>", "</a>"]


@given(markdown)
@example("# xmlns:a\n# xml\n]]>")
def test_the_result_is_well_formed_for_any_text(text):
    instruction = to_xml(text)
    assert ET.fromstring(instruction).tag == "instructions"
    minidom.parseString(instruction.encode()).unlink()


@given(markdown)
def test_the_text_of_every_line_but_headings_comes_back(text):
    allowed = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    allowed = allowed.replace("\r\n", "\n")
    lines = zip(allowed.split("\n"), scan(allowed), strict=True)
    # A parser reads a carriage return as a line feed, so that is what both sides are compared by.
    expected = "\n".join(line for line, kind in lines if kind <= 0).replace("\r", "\n")
    got = "".join(ET.fromstring(to_xml(text)).itertext())
    assert _kept(got) == _kept(expected)


def _kept(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip(" \t") not in ("", "---")]
