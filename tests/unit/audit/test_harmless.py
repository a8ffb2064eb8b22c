"""A harmless form keeps every value and every word of the recorded text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audit.draw import Draw
from app.audit.harmless import HARMLESS
from app.audit.languages import LANGUAGES
from app.audit.tokens import readings
from tests.unit.audit.probed_texts import SENTENCES, probed_text

MARKED = (
    "## Order\nThe **order** `A-1042` is ready for you:\n- Laptop: $1,199.00\n- Bag: $100.00\n\nIt came on 2026-11-05."
)
LOOKS = ("marks_stripped", "marks_added", "list_joined", "courtesy_added")


def words(text: str) -> list[str]:
    return re.findall(r"\w", text)


@pytest.mark.parametrize("kind", HARMLESS)
@settings(max_examples=40, deadline=None)
@given(text=st.sampled_from([*SENTENCES.values(), MARKED]), seed=st.integers(0, 99))
def test_a_form_is_drawn_again_by_its_seed_and_keeps_words_and_values(kind: str, text: str, seed: int) -> None:
    change = HARMLESS[kind](probed_text(text), Draw(str(seed)))

    assert change == HARMLESS[kind](probed_text(text), Draw(str(seed)))
    if change is None:
        return
    assert change.text != text
    if kind in LOOKS:
        added = words(change.now) if kind == "courtesy_added" else []
        assert words(change.text) == words(text) + added
    if kind == "number_rewritten":
        assert readings(change.was) & readings(change.now)


@pytest.mark.parametrize(
    ("kind", "text", "form"),
    [
        ("marks_stripped", "The **order** `A-1042` is here.", "The order A-1042 is here."),
        ("marks_added", "The order 7 is here.", "The order **7** is here."),
        ("list_joined", "You have:\n- one bag;\n- the laptop\nBye.", "You have:\none bag; the laptop.\nBye."),
        ("number_rewritten", "The price is $12,345.60 for you.", "The price is $12345.60 for you."),
        ("number_rewritten", "Der Preis ist 12.345,60 € für Sie.", "Der Preis ist 12345,60 € für Sie."),
        ("number_rewritten", "The price is $85.00 for you.", "The price is $85 for you."),
        ("date_rewritten", "It is here on 2026-11-05 for you.", "It is here on 5 November 2026 for you."),
        ("date_rewritten", "Das ist am 2026-11-05 für Sie da.", "Das ist am 5. November 2026 für Sie da."),
        ("date_rewritten", "It is here on 5 November 2026 for you.", "It is here on 2026-11-05 for you."),
        ("date_rewritten", "Está listo el 5 de noviembre de 2026.", None),
    ],
)
def test_forms(kind: str, text: str, form: str | None) -> None:
    change = HARMLESS[kind](probed_text(text), Draw("1"))

    assert (change.text if change else None) == form


def test_a_number_that_could_be_another_one_keeps_its_separator() -> None:
    assert HARMLESS["number_rewritten"](probed_text("The version is 1.299 for you."), Draw("1")) is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_polite_sentence_is_in_the_language_of_the_text(code: str) -> None:
    change = HARMLESS["courtesy_added"](probed_text(SENTENCES[code]), Draw("1"))

    assert change is not None
    assert change.text.endswith(LANGUAGES[code].courtesy)
