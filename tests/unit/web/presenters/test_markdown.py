"""Markdown becomes elements without attributes, and all else is text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.presenters.markdown import to_html

PIECES = st.sampled_from(
    [
        "# a\n",
        "- b\n",
        "1. c\n",
        "> ",
        "`d`",
        "```\n",
        "**",
        "*",
        "|e|f|\n|-|-|\n",
        "<b>",
        "[g](x)",
        "![h](y)",
        "\n",
        "~~",
        "&",
    ]
)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Title", "<h4>Title</h4>"),
        ("a **b** *c* `d`", "<p>a <strong>b</strong> <em>c</em> <code>d</code></p>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("1. a", "<ol><li>a</li></ol>"),
        ("```py\n<x>\n```", "<pre>&lt;x&gt;\n</pre>"),
        ("|a|b|\n|-|-|\n|1|2|", "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"),
        ("[a](javascript:b)", "<p>a (javascript:b)</p>"),
        ("![a](http://b/c.png)", "<p>a (http://b/c.png)</p>"),
        ("<http://a.b>", "<p>http://a.b</p>"),
        ("<b onclick=x>a</b>", "<p>&lt;b onclick=x&gt;a&lt;/b&gt;</p>"),
        ("half \ud83d an emoji", "<p>half \N{REPLACEMENT CHARACTER} an emoji</p>"),
    ],
)
def test_a_text_is_rendered(text: str, html: str) -> None:
    assert to_html(text) == html


def test_thousands_of_quotes_within_each_other_are_few_elements() -> None:
    assert to_html("> " * 4_000 + "a").count("<blockquote>") < 50


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_elements_are_closed_in_order_and_have_no_attributes(text: str) -> None:
    waiting = []
    for tag in re.findall(r"<[^>]*>", to_html(text)):
        assert re.fullmatch(r"</?[a-z]+[1-6]?>", tag)
        if tag.startswith("</"):
            assert waiting.pop() == tag[2:-1]
        elif tag not in ("<br>", "<hr>"):
            waiting.append(tag[1:-1])
    assert waiting == []
