"""The values with which a prompt's text renders to a recorded instruction."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.rendering import matching
from app.rendering.matching import Template, names_by_content, names_of
from app.rendering.render import InstructionFormat, Placeholder, PlaceholderValue, render, to_xml
from app.values.budget import OverBudget, WorkBudget
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
    assert Template(text, "RAW", KEYS).values(instruction) == values


@pytest.mark.parametrize("instruction_format", ["RAW", "XML"])
def test_a_rendering_has_the_names_of_its_values(instruction_format: InstructionFormat) -> None:
    values = (PlaceholderValue("a", "Anna & Bob <3"), PlaceholderValue("b", "Carl"))
    text, placeholders = "# Role\nHelp {{who}} today.", (Placeholder("who", values), Placeholder("day", values))
    instruction = render(text, instruction_format, placeholders, {"who": "a"}).instruction

    found = Template(text, instruction_format, KEYS).values(instruction)

    assert found is not None
    assert names_of(found, names_by_content(placeholders)) == {"who": "a"}


def test_a_value_without_a_name_is_left_out() -> None:
    assert names_of({"who": "Zoe"}, names_by_content([Placeholder("who", (PlaceholderValue("a", "Anna"),))])) == {}


def test_a_text_of_placeholders_that_have_no_values_is_copied_once() -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = "{{other}}" * size
        return lambda: Template(text, "RAW", KEYS).values(text)

    assert growth_of(prepare, 500) <= 2.2


def test_of_values_with_the_same_content_the_first_has_the_name() -> None:
    values = (PlaceholderValue("first", "x"), PlaceholderValue("second", "x"))
    assert names_of({"who": "x"}, names_by_content([Placeholder("who", values)])) == {"who": "first"}


@pytest.mark.parametrize("instruction_format", ["RAW", "XML"])
def test_a_text_is_rendered_once_for_many_instructions(
    instruction_format: InstructionFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, budget = "# a\nb {{who}}\n" * 2_000, WorkBudget()
    rendered = render(text, "XML", (), {}).instruction if instruction_format == "XML" else text
    template = Template(text, instruction_format, KEYS, budget)
    before = budget.spent
    monkeypatch.setattr(matching, "to_xml", None)

    assert [template.values(rendered.replace("{{who}}", f"v{n}")) for n in range(3)] == [
        {"who": f"v{n}"} for n in range(3)
    ]
    assert [template.values(f"Instruction {n}") for n in range(100)] == [None] * 100
    assert 3 * 2_000 <= budget.spent - before < 20_000
    assert before >= (len(text) if instruction_format == "XML" else 2_000)


def test_a_text_of_very_many_placeholders_spends_a_step_for_each() -> None:
    template = Template("{{who}}" * 10_000, "RAW", KEYS, WorkBudget(40_000))
    template.values("x")
    template.values("x")
    with pytest.raises(OverBudget):
        template.values("x")


def test_a_reference_with_more_digits_than_python_reads_stays_as_it_was_written() -> None:
    written = f"&#{'9' * 5_000};"
    instruction = to_xml("Hi {{who}} there").replace("{{who}}", written)

    assert Template("Hi {{who}} there", "XML", KEYS).values(instruction) == {"who": written}
    assert Template("Hi {{who}} there", "XML", KEYS).values(instruction.replace(written, "&lt;")) == {"who": "<"}
