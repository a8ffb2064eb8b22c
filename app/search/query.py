"""Queries of the text search: words, "phrases", `beginnings*` of words, and with a minus what must not occur."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.errors import Invalid
from app.search.words import Word, is_unspaced, placed_words, words_of

WORDS_MAX = 16
"""The words of a query."""
PREFIX_MIN = 2
"""The letters of a beginning, in scripts with spaces."""

_PART = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand one after the other; of the last one only the beginning is given if it is a `prefix`."""

    words: tuple[str, ...]
    prefix: bool = False
    excluded: bool = False

    def matches(self, found: str, wanted: str) -> bool:
        """Return whether a word of a text is the word `wanted` of this term."""
        return found.startswith(wanted) if self.prefix and wanted is self.words[-1] else found == wanted

    def places_in(self, words: Sequence[Word]) -> Iterator[tuple[int, int]]:
        """Yield where the term stands in a text, given its words: the first character, and the one after the last."""
        length = len(self.words)
        for index in range(len(words) - length + 1):
            some = words[index : index + length]
            if all(self.matches(word.text, wanted) for word, wanted in zip(some, self.words, strict=True)):
                yield some[0].start, some[-1].end


@dataclass(frozen=True)
class Query:
    """Terms that a turn must all have, and terms that it must not have; `text` is the query as it was written."""

    text: str
    terms: tuple[Term, ...]

    @cached_property
    def wanted(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if not term.excluded)

    @cached_property
    def is_exact(self) -> bool:
        """True if the words of a text alone tell that it matches, because no term is a phrase."""
        return all(len(term.words) == 1 for term in self.terms)

    def holds(self, texts: Iterable[str]) -> bool:
        """Return whether a turn in which these texts were said matches."""
        missing, excluded = set(self.wanted), [term for term in self.terms if term.excluded]
        for text in texts:
            words = list(placed_words(text))
            if any(_stands_in(term, words) for term in excluded):
                return False
            missing = {term for term in missing if not _stands_in(term, words)}
        return not missing

    def places_in(self, text: str) -> list[tuple[int, int]]:
        """Return the parts of a text that the query names, in order: the first character, and the one after each."""
        words = list(placed_words(text))
        found: list[tuple[int, int]] = []
        for start, end in sorted(place for term in self.wanted for place in term.places_in(words)):
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found


def _stands_in(term: Term, words: Sequence[Word]) -> bool:
    return next(term.places_in(words), None) is not None


def parse(text: str) -> Query:
    """Return the query that a text is; raises `Invalid` without a word to look for, or with too many."""
    terms = tuple(term for part in _PART.findall(text) if (term := _term(*part)))
    if all(term.excluded for term in terms):
        raise Invalid("Give at least one word to look for.")
    if sum(len(term.words) for term in terms) > WORDS_MAX:
        raise Invalid(f"Give at most {WORDS_MAX} words.")
    return Query(text, terms)


def _term(minus: str, phrase: str, word: str) -> Term | None:
    words = words_of(phrase or word)
    # The last character of a run of pairs, which in a longer run of the text is the beginning of a pair.
    if len(words) > 1 and len(words[-1]) == 1 and words[-2][1:] == words[-1] and is_unspaced(words[-2]):
        words.pop()
    if not words:
        return None
    lone = len(words[-1]) == 1 and is_unspaced(words[-1])
    prefix = lone or word.endswith("*")
    if prefix and not lone and len(words[-1]) < PREFIX_MIN:
        raise Invalid(f"Give at least {PREFIX_MIN} letters before the star.")
    return Term(tuple(words), prefix, bool(minus))
