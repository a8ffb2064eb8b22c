"""A query finds its terms in texts as reading word by word does, and long texts cost it little."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.query import Query, Term, parse
from app.search.words import Word, placed_words
from app.services.search.service import part_with
from app.values import unicode

TEXT = st.text(st.sampled_from("ab ß東京-"), max_size=40)
PARTS = st.lists(st.sampled_from(["a", "ab*", '"a b"', '"a ab a"', "東京", "京", "-b", '-"b a"', "ß"]), max_size=5)
QUERIES = PARTS.map(lambda parts: parse(" ".join(["a", *parts])))


def read(term: Term, words: list[Word]) -> Iterator[tuple[int, int]]:
    """Yield the places of a term, read word by word."""
    length = len(term.words)
    for index in range(len(words) - length + 1):
        some = words[index : index + length]
        heads = [word.text for word in some[:-1]] == list(term.words[:-1])
        last = some[-1].text.startswith(term.words[-1]) if term.prefix else some[-1].text == term.words[-1]
        if heads and last:
            yield some[0].start, some[-1].end


@given(QUERIES, st.lists(TEXT, max_size=3))
def test_texts_hold_a_query_that_reading_them_word_by_word_finds(query: Query, texts: list[str]) -> None:
    words = [list(placed_words(text)) for text in texts]
    stands = {term: any(any(read(term, some)) for some in words) for term in query.terms}
    assert query.matches(texts) == all(stands[term] != term.excluded for term in query.terms)


@given(QUERIES, TEXT)
def test_all_places_of_the_terms_are_found_and_no_others(query: Query, text: str) -> None:
    words = list(placed_words(text))
    marked = {place for start, end in query.places_in(text) for place in range(start, end)}
    wanted = [place for term in query.wanted for place in read(term, words)]

    assert marked >= {place for start, end in wanted for place in range(start, end)}
    assert all(any(start == begin for begin, _ in wanted) for start, _ in query.places_in(text))


LIGATURE = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"


@pytest.mark.parametrize("text", [f"{LIGATURE} " * 20_000, f"{LIGATURE} {'größe ' * 20_000}", LIGATURE * 20_000])
@pytest.mark.parametrize("at", [0.02, 0.9, 1])
def test_a_hit_in_ligatures_that_grow_is_placed_by_reading_little_more_than_the_text(
    monkeypatch: pytest.MonkeyPatch, text: str, at: float
) -> None:
    formed: list[int] = []

    def counted(form: str, part: str) -> str:
        normal = normalize(form, part)  # type: ignore[arg-type]
        formed.append(len(normal))
        return normal

    monkeypatch.setattr(unicode, "normalize", counted)
    place = int(at * len(text))
    part_with(parse("zebra"), f"{text[:place]} zebra {text[place:]}")

    assert sum(formed) <= 5 * len(text)


@pytest.mark.parametrize(
    ("text", "marked"), [("5\u338f apples", "5\u338f"), (f"{LIGATURE} 5kg", "5kg"), (f"{LIGATURE}-5kg", "5kg")]
)
def test_words_that_folding_joins_or_splits_are_placed(text: str, marked: str) -> None:
    assert [text[start:end] for start, end in parse("5kg").places_in(text, reach=9)] == [marked]


def test_a_hit_without_a_place_shows_the_text() -> None:
    query, text = parse("東株"), "東\u337f b"

    assert query.matches([text])
    assert part_with(query, text) == (text, ())


@given(QUERIES, TEXT, st.integers(min_value=7, max_value=20))
def test_the_first_places_are_found_without_the_others(query: Query, text: str, reach: int) -> None:
    whole, near = query.places_in(text), query.places_in(text, reach=reach)

    assert near[:1] == whole[: len(near[:1])]
    assert bool(near) == bool(whole)
    assert {place for start, end in near for place in range(start, end)} <= {
        place for start, end in whole for place in range(start, end)
    }
