"""Mutants of a prompt's text: the text without a sentence, or with a sentence that means something else.

The operators here are deterministic and know no domain. Their words are those of the judge's audit, in
`app/audit/languages.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from app.audit.languages import LanguageWords, language_of
from app.audit.tokens import TextPiece, values_of
from app.guard.sentences import PLACEHOLDER, Sentence

Operator = Literal["without", "turned", "weaker", "number", "model"]
"""How a mutant is made. A model proposes the mutants of `model` (`app.guard.proposals`)."""
_DIGITS_MAX = 15
# Operators change words of this part of a long sentence. All are removed with the sentence.
_READ_MAX = 4_000
# The marks of lists, and how many characters they have with the blanks around them.
_MARKS, _MARK_MAX = " \t-*+•0123456789.)", 24


@dataclass(frozen=True, slots=True)
class Mutant:
    """A text in which the characters from `begin` to `end` are replaced by `by`; `sentence` is a sentence's number."""

    sentence: int
    operator: Operator
    begin: int
    end: int
    by: str

    def applied(self, text: str) -> str:
        """Return the whole text of the mutant."""
        return text[: self.begin] + self.by + text[self.end :]


SentenceChange = tuple[int, int, str]
"""The begin and the end of the characters of a sentence that are replaced, and what replaces them."""


def mutants(text: str, sentences: list[Sentence]) -> list[Mutant]:
    """Return the mutants of each sentence, the one without it first."""
    language = language_of(text)
    return [mutant for sentence in sentences for mutant in _of_sentence(text, sentence, language)]


def _of_sentence(text: str, sentence: Sentence, language: LanguageWords | None) -> Iterator[Mutant]:
    begin, end = _removed(text, sentence.piece)
    yield Mutant(sentence.number, "without", begin, end, "")
    read = sentence.piece.text[:_READ_MAX]
    changes = _changes(read, language)
    placeholders = [place.span() for place in PLACEHOLDER.finditer(read)]
    for operator, change in changes.items():
        if change is None or any(change[0] < last and first < change[1] for first, last in placeholders):
            continue
        at = sentence.piece.begin
        yield Mutant(sentence.number, operator, at + change[0], at + change[1], change[2])


def _changes(sentence: str, language: LanguageWords | None) -> dict[Operator, SentenceChange | None]:
    """Return the change of each operator. If two operators change the same word, only `turned` does."""
    number = _other_number(sentence)
    if language is None:
        return {"number": number}
    turned = _turned(sentence, language)
    weaker = _exchanged(sentence, language.weaker_forms, language.weaker_pattern)
    if turned and weaker and turned[0] == weaker[0]:
        weaker = None
    return {"turned": turned, "weaker": weaker, "number": number}


def _removed(text: str, piece: TextPiece) -> tuple[int, int]:
    """Return the begin and end of what is removed with a sentence.

    These are the blanks after it. For a sentence that is a whole line, these are the mark of a list and the line break.
    """
    begin, end = piece.begin, piece.end
    line = _line_begin(text, begin)
    if line is not None and text[end : end + 1] in ("", "\n"):
        return line, min(len(text), end + 1)
    while end < len(text) and text[end] in " \t":
        end += 1
    return begin, end


def _line_begin(text: str, at: int) -> int | None:
    """Return where the line begins if only the mark of a list is before `at`, else None."""
    least = max(0, at - _MARK_MAX)
    while at > least and text[at - 1] in _MARKS:
        at -= 1
    return at if at == 0 or text[at - 1] == "\n" else None


def _turned(sentence: str, language: LanguageWords) -> SentenceChange | None:
    """Return the change that removes a negation, or adds one if the sentence has none."""
    if change := _exchanged(sentence, language.form_by_negation, language.negation_pattern):
        return change
    if language.negative_words.search(sentence.lower()):
        return None
    return _exchanged(sentence, language.negation_by_form, language.form_pattern)


def _exchanged(sentence: str, forms: Mapping[str, str], pattern: re.Pattern[str]) -> SentenceChange | None:
    """Return the change of the first match of `pattern` to its form in `forms`, with the same first letter's case.

    Returns None without a match, and for a sentence that changes its length in lower case.
    """
    lowered = sentence.lower()
    if len(lowered) != len(sentence):
        return None
    found = pattern.search(lowered)
    if found is None or found[0] not in forms:
        return None
    by = forms[found[0]]
    first = sentence[found.start()]
    return found.start(), found.end(), by[0].upper() + by[1:] if first.isupper() else by


def _other_number(sentence: str) -> SentenceChange | None:
    """Return the change of the first number: twice as high if it only has digits, else with another first digit."""
    for value in values_of(sentence):
        if value.kind != "number":
            continue
        digits = value.text
        if digits.isdecimal() and digits.isascii() and len(digits) <= _DIGITS_MAX:
            return value.begin, value.end, str(int(digits) * 2 or 1)
        first = digits[0]
        other = str(int(first) % 9 + 1) if first.isascii() and first.isdecimal() else "1"
        return value.begin, value.begin + 1, other
    return None
