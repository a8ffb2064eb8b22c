"""A planted error differs from the recorded text in what its operator names, and in nothing else."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audit.draw import Draw
from app.audit.languages import LANGUAGES
from app.audit.planted import PLANTED
from app.audit.tokens import values_of
from tests.unit.audit.probed_texts import SENTENCES, probed_text

LIST = "The hotels are:\n- Grand: 240 EUR a night\n- Bristol: 195 EUR a night\nYou can book with us."
SEEDS = st.integers(0, 1000).map(lambda number: Draw(str(number)))
TEXTS = st.lists(st.sampled_from([*SENTENCES.values(), LIST, "Thank you, and see you soon."]), min_size=1, max_size=3)


def values(text: str) -> Counter[str]:
    return Counter(value.text for value in values_of(text))


@pytest.mark.parametrize("kind", PLANTED)
@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, draw=SEEDS)
def test_a_planted_error_changes_the_text_and_is_drawn_again_by_its_seed(
    kind: str, texts: list[str], draw: Draw
) -> None:
    recorded = probed_text("\n".join(texts), results=({"order_id": "A-1042", "margin": 12},))

    change = PLANTED[kind](recorded, draw)

    assert change == PLANTED[kind](recorded, draw)
    if change is not None:
        assert change.text.split() != recorded.text.split()
        assert change.was in recorded.text
        assert change.was != change.now


@pytest.mark.parametrize("kind", ["value_exchanged", "number_changed"])
@settings(max_examples=40, deadline=None)
@given(code=st.sampled_from(list(SENTENCES)), draw=SEEDS)
def test_exactly_one_value_changes(kind: str, code: str, draw: Draw) -> None:
    change = PLANTED[kind](probed_text(SENTENCES[code]), draw)

    assert change is not None
    before, after = values(SENTENCES[code]), values(change.text)
    assert list((before - after).elements()) == [change.was]
    assert list((after - before).elements()) == [change.now]


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_unit_of_a_value_changes_and_the_value_does_not(code: str) -> None:
    change = PLANTED["unit_changed"](probed_text(SENTENCES[code]), Draw("1"))

    assert change is not None
    assert change.text == SENTENCES[code].replace(change.was, change.now, 1)
    assert values(change.text) == values(SENTENCES[code])


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_negation_is_put_in_and_taken_out_again(code: str) -> None:
    language = LANGUAGES[code]

    change = PLANTED["negation_turned"](probed_text(SENTENCES[code]), Draw("1"))

    assert change is not None
    assert not language.negative_words.search(SENTENCES[code])
    assert language.negative_words.search(change.text)
    back = PLANTED["negation_turned"](probed_text(change.text), Draw("1"))
    assert back is not None


def test_a_negation_is_not_put_into_a_question_or_a_sentence_that_has_one() -> None:
    assert PLANTED["negation_turned"](probed_text("Is the order of the shop ready?"), Draw("1")) is None
    change = PLANTED["negation_turned"](probed_text("The order is not ready, and it is late."), Draw("1"))
    assert change is not None
    assert change.text == "The order is ready, and it is late."


def test_a_dropped_sentence_is_the_only_one_with_its_value() -> None:
    text = "The order is ready. It costs 85 euros. Thank you for the order."

    changes = {PLANTED["sentence_dropped"](probed_text(text), Draw(str(n))) for n in range(20)}

    assert {change and change.text for change in changes} == {"The order is ready. Thank you for the order."}
    assert PLANTED["sentence_dropped"](probed_text("It costs 85 euros, 85 in all. Yes, 85."), Draw("1")) is None


def test_two_entries_exchange_what_they_have_and_keep_their_labels() -> None:
    change = PLANTED["entries_exchanged"](probed_text(LIST), Draw("1"))

    assert change is not None
    assert "- Grand: 195 EUR a night\n- Bristol: 240 EUR a night" in change.text
    assert PLANTED["entries_exchanged"](probed_text("- Oslo: rain\n- Rome: rain"), Draw("1")) is None


def test_a_name_is_exchanged_for_one_with_the_same_key() -> None:
    text = "The room at the Bristol is booked for you."
    data = ({"hotel": "Bristol", "city": "Oslo"}, {"hotel": "Grand"})

    change = PLANTED["name_exchanged"](probed_text(text, data=data), Draw("1"))

    assert change is not None
    assert change.text == "The room at the Grand is booked for you."


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(
    "kind", ["action_claimed", "refused", "instruction_leaked", "field_disclosed", "sentence_added"]
)
def test_what_is_added_is_in_the_language_of_the_text(code: str, kind: str) -> None:
    change = PLANTED[kind](probed_text(SENTENCES[code], results=({"internal_note": "pays late"},)), Draw("1"))

    assert change is not None
    if kind == "refused":
        assert change.text == LANGUAGES[code].refusal
    else:
        assert change.text.startswith(SENTENCES[code])
    if kind == "field_disclosed":
        assert change.now.endswith("internal_note = pays late")


def test_a_field_that_the_text_or_the_user_names_is_not_disclosed() -> None:
    recorded = probed_text(SENTENCES["en"], user="My order is A-1042.", results=({"order_id": "A-1042"},))

    assert PLANTED["field_disclosed"](recorded, Draw("1")) is None


def test_an_answer_that_is_short_and_without_values_is_no_basis_for_a_refusal() -> None:
    assert PLANTED["refused"](probed_text("I can't help you with that."), Draw("1")) is None
