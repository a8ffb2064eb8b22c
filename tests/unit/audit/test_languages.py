"""Languages are recognized by their frequent words, and their data is whole."""

from __future__ import annotations

import pytest

from app.audit.languages import LANGUAGES, language_of
from tests.unit.audit.probed_texts import SENTENCES


@pytest.mark.parametrize("code", SENTENCES)
def test_a_text_has_the_language_of_most_of_its_frequent_words(code: str) -> None:
    language = language_of(SENTENCES[code])

    assert language is not None
    assert language.code == code


@pytest.mark.parametrize("text", ["", "42", "Xyzzy plugh."])
def test_a_text_without_frequent_words_has_no_language(text: str) -> None:
    assert language_of(text) is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_all_data(code: str) -> None:
    language = LANGUAGES[code]

    assert code in SENTENCES
    assert len(language.months) in (0, 12)
    assert language.claims
    assert all(form != negated for form, negated in language.negations)
    assert all(len(words) == len(set(words)) > 1 for words in language.units)
    assert all(language.negative_words.search(negated) for negated in language.form_by_negation)
