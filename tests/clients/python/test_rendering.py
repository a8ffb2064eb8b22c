"""Rendering in the client gives what the server gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_client.rendering import render

from app.rendering.render import Placeholder, PlaceholderValue
from app.rendering.render import render as render_on_server

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
def test_values_stand_in_place_of_their_keys(text: str, selections: dict[str, str], instruction: str) -> None:
    assert render(text, "RAW", DEFINITIONS, selections).instruction == instruction


pieces = st.sampled_from(["{{tone}}", "{{audience}}", "{{who}}", "{{ tone }}", "{{", "}}", "{", "a", "\n", "\0"])


@given(
    st.lists(pieces).map("".join),
    st.dictionaries(st.sampled_from(["tone", "audience", "who"]), st.sampled_from(["formal", "warm", "experts", "x"])),
)
def test_what_was_filled_in_and_what_was_not_is_as_the_server_says(text: str, selections: dict[str, str]) -> None:
    here, there = render(text, "RAW", DEFINITIONS, selections), render_on_server(text, "RAW", ON_SERVER, selections)
    assert here.instruction == there.instruction
    assert list(here.resolved.items()) == list(there.resolved.items())
    assert (here.ignored, here.undefined) == (there.ignored, there.undefined_keys)
