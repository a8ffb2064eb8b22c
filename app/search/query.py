"""Queries of the text search: words, "phrases", `beginnings*` of words, and with a minus what must not occur."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice

from app.errors import Invalid
from app.search.words import TextPart, Word, is_unspaced, parts_of, words_of

WORDS_MAX = 16
"""The words of a query."""
PREFIX_MIN = 2
"""The letters of a beginning, in scripts with spaces."""

_PART = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')


@dataclass(frozen=True, slots=True)
class Term:
    """Consecutive words. If it is a `prefix`, the last word is only the beginning of a word."""

    words: tuple[str, ...]
    prefix: bool = False
    excluded: bool = False

    @property
    def line(self) -> str:
        """The words of the term, one per line. A text matches if its `_lines` contain this."""
        return "\n" + "\n".join(self.words) + ("" if self.prefix else "\n")


@dataclass(frozen=True)
class Query:
    """A query: a turn must have all terms but the excluded ones, and none of these. `text` is the query as written."""

    text: str
    terms: tuple[Term, ...]

    @cached_property
    def wanted(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if not term.excluded)

    @cached_property
    def is_exact(self) -> bool:
        """True if the words of a text are enough to decide a match, because no term is a phrase."""
        return all(len(term.words) == 1 for term in self.terms)

    def matches(self, texts: Iterable[str]) -> bool:
        """Return whether a turn with these texts matches."""
        missing, excluded = {term.line for term in self.wanted}, [term.line for term in self.terms if term.excluded]
        for text in texts:
            lines = _lines(words_of(text))
            if any(line in lines for line in excluded):
                return False
            missing = {line for line in missing if line not in lines}
        return not missing

    def places_in(self, text: str, *, reach: int | None = None) -> list[tuple[int, int]]:
        """Return where the text has words of the query: the first character and the end of each place, in order.

        With `reach`, only places within this number of words after the first place are returned.
        """
        wanted, parts = {term.line for term in self.wanted}, list(parts_of(text))
        lines = _lines(word for part in parts for word in part.words)
        firsts = [at for line in wanted if (at := lines.find(line)) >= 0]
        if not firsts:
            return []
        if reach is not None:
            # Placing words is slow, so only those of the part with the first match are placed, and `reach` more.
            parts = _from_word(parts, number=lines.count("\n", 0, min(firsts)))
            reach += len(parts[0].words)
        words = list(islice((word for part in parts for word in part.placed_words()), reach))
        lines, starts = _lines(word.text for word in words), _line_starts(words)
        places: list[tuple[int, int]] = []
        for start, end in sorted(place for line in wanted for place in _places(line, lines, starts, words)):
            if places and start <= places[-1][1]:
                places[-1] = (places[-1][0], max(end, places[-1][1]))
            else:
                places.append((start, end))
        # No place: the words match only in the folded text, in which a character between two words became a letter. So
        # the place is the beginning of the part that has them.
        return places or [(parts[0].start, parts[0].start)]


def _from_word(parts: list[TextPart], *, number: int) -> list[TextPart]:
    """Return the part with the word of this number, counted from 0 over all parts, and the parts after it."""
    return parts[bisect_right(list(accumulate(len(part.words) for part in parts)), number) :]


def _lines(words: Iterable[str]) -> str:
    """Return the words one per line. Looking for a term in this is a search for a text, which is fast in Python."""
    return "\n" + "\n".join(words) + "\n"


def _line_starts(words: Sequence[Word]) -> list[int]:
    """Return the index of the line break before each word in the `_lines` of the words."""
    return list(accumulate((len(word.text) + 1 for word in words), initial=0))


def _places(line: str, lines: str, starts: Sequence[int], words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield where a term's `line` is in the text of `words`; `lines` and `starts` are made of these words."""
    length = line.rstrip("\n").count("\n")  # the words of the term: a line break is before each
    at = lines.find(line)
    while at >= 0:
        first = bisect_left(starts, at)
        yield words[first].start, words[first + length - 1].end
        at = lines.find(line, at + 1)


def parse(text: str) -> Query:
    """Return the query in a text. Raises `Invalid` if it has no word to look for, or more than `WORDS_MAX`."""
    terms = tuple(term for part in _PART.findall(text) if (term := _term(*part)))
    if all(term.excluded for term in terms):
        raise Invalid("Give at least one word to look for.")
    if sum(len(term.words) for term in terms) > WORDS_MAX:
        raise Invalid(f"Give at most {WORDS_MAX} words.")
    return Query(text, terms)


def _term(minus: str, phrase: str, word: str) -> Term | None:
    words = words_of(phrase or word)
    # A run of characters without spaces ends with a single character (see `_split` in `words.py`). In a text with a
    # longer run, this character begins another pair, so the query must not ask for it.
    if len(words) > 1 and len(words[-1]) == 1 and words[-2][1:] == words[-1] and is_unspaced(words[-2]):
        words.pop()
    if not words:
        return None
    is_single = len(words[-1]) == 1 and is_unspaced(words[-1])
    prefix = is_single or word.endswith("*")
    if prefix and not is_single and len(words[-1]) < PREFIX_MIN:
        raise Invalid(f"Give at least {PREFIX_MIN} letters before the star.")
    return Term(tuple(words), prefix, bool(minus))
