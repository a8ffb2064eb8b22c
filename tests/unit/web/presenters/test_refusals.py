"""Refusals of the API's paths are shown in the words of the editor's page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Conflict, Invalid
from app.web.forms import Form
from app.web.presenters.prompt_editor import fields_sent
from app.web.presenters.refusals import Refusal, refusals

FORM = {
    "placeholder.0.key": ["tone"],
    "placeholder.2.key": [""],
    "placeholder.2.name": ["x"],
    "placeholder.2.content": [""],
}
FIELDS = fields_sent(Form(FORM))


@pytest.mark.parametrize(
    ("problem", "told", "field"),
    [
        ("name: No.", "Name: No.", "name"),
        ("placeholders: No.", "Placeholders: No.", "placeholders"),
        ("placeholders.0: No.", "Placeholder “tone”: No.", "placeholder.0.key"),
        ("placeholders.0.key: No.", "Placeholder “tone”, key: No.", "placeholder.0.key"),
        ("placeholders.0.description: No.", "Placeholder “tone”, what it is for: No.", "placeholder.0.description"),
        ("placeholders.0.values: No.", "Placeholder “tone”, values: No.", "placeholder.0.values.0.name"),
        ("placeholders.1.values.1.name: No.", "Placeholder 2, value 2, name: No.", "placeholder.1.values.1.name"),
        (
            "placeholders.1.values.0.content: No.",
            "Placeholder 2, value 1, content: No.",
            "placeholder.1.values.0.content",
        ),
        ("placeholders.7.key: No.", "Placeholders, number 8, key: No.", "placeholders"),
        ("languageModelConfig.stop.1: No: never.", "Stop words, number 2: No: never.", "stop"),
        ("languageModelConfig.tools.0.a b: No.", "Tools, number 1, a b: No.", "tools"),
        ("languageModelConfig.other: No.", "languageModelConfig.other: No.", ""),
        ("etag: No.", "etag: No.", ""),
        ("Write a question: none is there.", "Write a question: none is there.", ""),
    ],
)
def test_a_refusal_names_its_place_on_the_page(problem: str, told: str, field: str) -> None:
    [refusal] = refusals(Invalid(problem), FIELDS)

    assert (str(refusal), refusal.field) == (told, field)


def test_every_problem_is_shown_by_itself() -> None:
    found = refusals(Invalid("name: No; never.", "value: No.", "…"), FIELDS)

    assert [str(each) for each in found] == ["Name: No; never.", "Text: No.", "…"]


def test_other_errors_stay_as_they_are() -> None:
    assert refusals(Conflict("It was archived."), FIELDS) == [Refusal("It was archived.")]


@given(st.text())
def test_any_problem_is_shown(problem: str) -> None:
    [refusal] = refusals(Invalid(problem), FIELDS)

    assert problem.endswith(refusal.message)


@pytest.mark.parametrize("root", ["placeholders", "languageModelConfig.stop"])
def test_a_key_of_any_number_of_digits_is_shown_as_it_was_written(root: str) -> None:
    problem = f"{root}.{'9' * 5_000}: unknown field"

    (shown,) = refusals(Invalid(problem), FIELDS)

    assert "9" * 5_000 in str(shown)
