"""Rendering in the client gives what the server gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reprise_client.errors import InvalidRequestError
from reprise_client.markdown.conversion import to_xml
from reprise_client.rendering import render
from reprise_formats.xml import STEPS_MAX

from app.errors import Invalid
from app.rendering.render import Placeholder, PlaceholderValue
from app.rendering.render import render as render_on_server
from app.rendering.render import to_xml as to_xml_on_server
from tests.support import markdown

DEFINITIONS: list[dict[str, Any]] = [
    {
        "key": "tone",
        "description": "",
        "values": [
            {"name": "formal", "content": "Be formal."},
            {"name": "warm", "content": "Be {{tone}}.", "isDefault": True},
        ],
    },
    {"key": "audience", "values": [{"name": "experts", "content": "experts", "isDefault": False}]},
]
ON_SERVER = [
    Placeholder(
        each["key"],
        tuple(
            PlaceholderValue(value["name"], value["content"], value.get("isDefault", False)) for value in each["values"]
        ),
    )
    for each in DEFINITIONS
]


@pytest.mark.parametrize(
    ("text", "selections", "instruction"),
    [
        ("{{tone}}", {"tone": "formal"}, "Be formal."),
        ("{{tone}}", {}, "Be {{tone}}."),
        ("{{tone}}", {"tone": "rude"}, "Be {{tone}}."),
        ("to {{audience}}.", {}, "to ."),
        ("{{who}} is {{{audience}}}", {"audience": "experts"}, "{{who}} is {experts}"),
    ],
)
def test_values_replace_their_keys(text: str, selections: dict[str, str], instruction: str) -> None:
    assert render(text, "RAW", DEFINITIONS, selections).instruction == instruction


pieces = st.sampled_from(["{{tone}}", "{{audience}}", "{{who}}", "{{ tone }}", "{{", "}}", "{", "a", "\n", "\0"])


@given(
    st.lists(pieces).map("".join),
    st.dictionaries(st.sampled_from(["tone", "audience", "who"]), st.sampled_from(["formal", "warm", "experts", "x"])),
)
def test_what_was_filled_in_and_what_was_not_agrees_with_the_server(text: str, selections: dict[str, str]) -> None:
    here, there = render(text, "RAW", DEFINITIONS, selections), render_on_server(text, "RAW", ON_SERVER, selections)
    assert here.instruction == there.instruction
    assert list(here.resolved.items()) == list(there.resolved.items())
    assert (here.ignored, here.undefined) == (there.ignored, there.undefined)


@settings(max_examples=1_000)
@given(markdown.texts)
@example("- > - a\n  >\n  > -\n\n  # A")
@example("# " + "[" * 25 + "a" + "](b)" * 25)
@example("# ![a ![*b*](c)](d)")
@example("[foo]: <a>\n'not a title\n\n# [foo]")
def test_xml_is_what_the_server_makes(text: str) -> None:
    assert to_xml(text) == to_xml_on_server(text)


@pytest.mark.parametrize("text", ["\n" * (STEPS_MAX + 1), "> " * (STEPS_MAX + 1), "-\n" * (STEPS_MAX // 2 + 1)])
def test_a_text_of_too_many_lines_and_blocks_is_refused_in_the_words_of_the_server(text: str) -> None:
    with pytest.raises(InvalidRequestError) as here:
        to_xml(text)
    with pytest.raises(Invalid) as there:
        to_xml_on_server(text)
    assert str(here.value) == str(there.value)


def test_a_text_of_as_many_lines_and_blocks_as_are_allowed_is_converted() -> None:
    text = "-\n" * (STEPS_MAX // 2 - 1) + "\\n"
    assert to_xml(text) == to_xml_on_server(text)
