"""The values with which a prompt's text renders to a recorded instruction."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.rendering.matching import names_of, values_in
from app.rendering.render import InstructionFormat, Placeholder, PlaceholderValue, render
from tests.support.operations import growth_of

KEYS = {"who", "day"}


@pytest.mark.parametrize(
    ("instruction", "text", "values"),
    [
        ("Be kind.", "Be kind.", {}),
        (" Be\r\nkind.\n", "Be\nkind.", {}),
        ("Be kind.", "Be brief.", None),
        ("Hi Anna!", "Hi {{who}}!", {"who": "Anna"}),
        ("Hi !", "Hi {{who}}!", {"who": ""}),
        ("Hi Anna!", "Hi {{other}}!", None),
        ("Hi {{other}}!", "Hi {{other}}!", {}),
        ("Anna on May 5", "{{who}} on {{day}}", {"who": "Anna", "day": "May 5"}),
        ("Anna, Anna", "{{who}}, {{who}}", {"who": "Anna"}),
        ("Anna, Bob", "{{who}}, {{who}}", None),
        ("Hi", "Hi {{who}} there", None),
        ("aa", "aa{{who}}aa", None),
        ("x on y", "{{who}} at {{day}}", None),
    ],
)
def test_values_are_what_is_between_the_literals(instruction: str, text: str, values: dict[str, str] | None) -> None:
    assert values_in(instruction, text, "RAW", KEYS) == values


@pytest.mark.parametrize("instruction_format", ["RAW", "XML"])
def test_a_rendering_has_the_names_of_its_values(instruction_format: InstructionFormat) -> None:
    values = (PlaceholderValue("a", "Anna & Bob <3"), PlaceholderValue("b", "Carl"))
    text, placeholders = "# Role\nHelp {{who}} today.", (Placeholder("who", values), Placeholder("day", values))
    instruction = render(text, instruction_format, placeholders, {"who": "a"}).instruction

    found = values_in(instruction, text, instruction_format, KEYS)

    assert found is not None
    assert names_of(found, placeholders) == {"who": "a"}


def test_a_value_without_a_name_is_left_out() -> None:
    assert names_of({"who": "Zoe"}, [Placeholder("who", (PlaceholderValue("a", "Anna"),))]) == {}


def test_a_text_of_placeholders_that_have_no_values_is_copied_once() -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = "{{other}}" * size
        return lambda: values_in(text, text, "RAW", KEYS)

    assert growth_of(prepare, 500) <= 2.2
