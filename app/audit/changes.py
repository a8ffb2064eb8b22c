"""The changes that operators make to texts: each function finds a part of a text, and returns the changed text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.audit.languages import SYMBOLS, WORD, LanguageWords
from app.audit.probed_text import Leaf, ProbedText
from app.audit.tokens import FoundValue, TextPiece, same_value, sentences_of, values_of
from app.values.budget import UNLIMITED, WorkBudget

NAMES_MAX = 200
_STEPS_FOR_UNITS = 40
_STEPS_PER_NAME = 200  # to compile its pattern
_STEPS_PER_VALUE = 5
_SEARCHED_PER_STEP = 1_000  # characters
ENTRIES_MAX = 12
"""Entries of one list or table that are compared: list items, or rows."""
# What is between the name and the rest of an entry, such as `**: ` in "**Delivery**: 5 days".
# The first alternative needs a letter or digit before the marks, the second a `_`: so a run of `_` is read only once.
_TAIL = re.compile(r"(?:(?<=[^\W_])[*_`]*+|(?<=_)[*`]*+)(?:: | [–—-] )")


@dataclass(frozen=True, slots=True)
class Change:
    """A changed text; `was` is the part that was replaced, and `now` is what replaced it."""

    text: str
    was: str
    now: str


def replaced(text: str, part: TextPiece, by: str) -> Change:
    """Return the text with `by` in the place of a part."""
    return Change(part.replaced(text, by), part.text, by)


def appended(probed: ProbedText, sentence: str) -> Change:
    """Return the text with a sentence after it, as a paragraph if the text has several lines."""
    text = probed.text.rstrip()
    between = "\n\n" if "\n" in text else "" if probed.language and probed.language.code == "ja" else " "
    return Change(f"{text}{between}{sentence}", "", sentence)


def statements(text: str) -> list[TextPiece]:
    """Return the sentences of a text that state something: no question, heading, row of a table or line of code."""
    return [
        sentence
        for sentence in sentences_of(text)
        if sentence.text[-1] not in "?？:" and sentence.text[0] not in "#|`" and WORD.search(sentence.text)
    ]


def has_negative_word(language: LanguageWords, sentence: str) -> bool:
    """Return whether a sentence has a negative word."""
    return bool(language.negative_words.search(sentence))


def fills_its_line(text: str, sentence: TextPiece) -> bool:
    """Return True if a sentence fills its line, which may begin with the mark of a list item."""
    begin = text.rfind("\n", 0, sentence.begin) + 1
    return not text[begin : sentence.begin].strip("-*• \t") and text[sentence.end : sentence.end + 1] in ("", "\n")


def other_unit(probed: ProbedText, value: FoundValue) -> Change | None:
    """Return the text with another unit directly after or before a value: "5 kg" for "5 g"; None without a unit."""
    text, language = probed.text, probed.language
    probed.conversation.budget.spend(_STEPS_FOR_UNITS)
    after = text[value.end : value.end + 40]
    before = text[max(0, value.begin - 8) : value.begin]
    for unit, other in SYMBOLS:
        space = len(after) - len(after.lstrip())
        begin = value.end + space
        if after[space:].startswith(unit) and not after[space + len(unit) :][:1].isalpha():
            return replaced(text, TextPiece(begin, begin + len(unit), unit), other)
        if before.rstrip().endswith(unit) and not before.rstrip()[: -len(unit)][-1:].isalnum():
            begin = value.begin - len(before) + len(before.rstrip()) - len(unit)
            return replaced(text, TextPiece(begin, begin + len(unit), unit), other)
    for words, forms in language.unit_forms if language else ():
        if unit_word := forms.match(after, len(after) - len(after.lstrip())):
            other = words[(words.index(unit_word[0]) + 1) % len(words)]
            begin = value.end + unit_word.start()
            return replaced(text, TextPiece(begin, begin + len(unit_word[0]), unit_word[0]), other)
    return None


def exchangeable(
    first: TextPiece, second: TextPiece, budget: WorkBudget = UNLIMITED
) -> tuple[TextPiece, TextPiece] | None:
    """Return a part of each of two entries which, exchanged, give both another meaning; None if there are none.

    These are the first values of one kind that differ, or else the texts after the names of both entries. Raises
    `OverBudget`.
    """
    budget.spend(len(first.text) + len(second.text) + _STEPS_PER_VALUE * ENTRIES_MAX**2)
    rights = _values_in_text(second)
    for left in _values_in_text(first):
        for right in rights:
            if left.kind == right.kind and not same_value(left.kind, left.text, right.text):
                rests = (first.text.replace(left.text, ""), second.text.replace(right.text, ""))
                return (left, right) if rests[0] != rests[1] else None
    tails = [_TAIL.search(entry.text) for entry in (first, second)]
    if not tails[0] or not tails[1]:
        return None
    parts = [
        TextPiece(entry.begin + tail.end(), entry.end, entry.text[tail.end() :])
        for entry, tail in zip((first, second), tails, strict=True)
        if tail
    ]
    differ = parts[0].text != parts[1].text and first.text[: tails[0].start()] != second.text[: tails[1].start()]
    return (parts[0], parts[1]) if differ and all(part.text.strip() for part in parts) else None


def _values_in_text(entry: TextPiece) -> list[FoundValue]:
    """Return the first `ENTRIES_MAX` values of an entry, with their places in the whole text."""
    return [
        FoundValue(entry.begin + value.begin, entry.begin + value.end, value.text, value.kind)
        for value in list(values_of(entry.text))[:ENTRIES_MAX]
    ]


def other_name(probed: ProbedText, name: str, others: Sequence[str]) -> Change | None:
    """Return the text with another name in the place of a name; None if there is none.

    This is the first of `others` that the text does not have, and that shares no word with the name.
    """
    budget = probed.conversation.budget
    budget.read(probed.text)
    if name not in probed.text:
        return None
    budget.spend(_STEPS_PER_NAME)
    place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", probed.text)
    if place is None:
        return None
    words = set(name.casefold().split())
    for other in others:
        budget.read(probed.text)
        if not words & set(other.casefold().split()) and other.casefold() not in probed.text.casefold():
            return replaced(probed.text, TextPiece(*place.span(), name), other)
    return None


def capitalized(text: str, language: LanguageWords | None) -> list[str]:
    """Return the capitalized words within sentences, without repetition, frequent words and names of months."""
    if language is None:
        return []
    months = {month.casefold() for month in language.months}
    words = (word[0] for sentence in sentences_of(text)[:NAMES_MAX] for word in list(WORD.finditer(sentence.text))[1:])
    frequent = language.words | months
    return list(
        dict.fromkeys(word for word in words if word[0].isupper() and len(word) > 2 and word.casefold() not in frequent)
    )


def is_undisclosed(leaf: Leaf, probed: ProbedText) -> bool:
    """Return True if neither the text nor the user's message has the value of a leaf; always for a truth value."""
    if isinstance(leaf.value, bool):
        return True
    text = str(leaf.value)
    probed.conversation.budget.spend((len(probed.text) + len(probed.user)) // _SEARCHED_PER_STEP)
    return bool(text) and text not in probed.text and text not in probed.user
