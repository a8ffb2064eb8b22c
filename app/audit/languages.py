"""What the operators know of languages: the data of `languages.toml`, and which language a text has."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from app.values.structs import convert

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_JAPANESE = re.compile("[\u3040-\u30ff]")
CHARACTERS_READ = 2_000
"""The characters of a text by which its language is recognized."""


class LanguageWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The words of one language; `languages.toml` explains the fields."""

    code: str
    words: frozenset[str]
    negations: tuple[tuple[str, str], ...]
    units: tuple[tuple[str, ...], ...]
    months: tuple[str, ...]
    thousands: str
    refusal: str
    claims: tuple[str, ...]
    leak: str
    discloses: str
    courtesy: str
    joined: str
    weaker: tuple[tuple[str, str], ...]
    denials: tuple[tuple[str, str], ...] = ()

    @cached_property
    def negation_by_form(self) -> dict[str, str]:
        """The negation of each form, such as "is not" of "is"; the first one that `languages.toml` lists."""
        return dict(reversed(self.negations))

    @cached_property
    def form_by_negation(self) -> dict[str, str]:
        """The form of each negation, such as "is" of "is not"; `denials` are negations that no form becomes."""
        return {negated: form for form, negated in self.negations} | dict(self.denials)

    @cached_property
    def form_pattern(self) -> re.Pattern[str]:
        return self.forms(self.negation_by_form)

    @cached_property
    def negation_pattern(self) -> re.Pattern[str]:
        return self.forms(self.form_by_negation)

    @cached_property
    def weaker_forms(self) -> dict[str, str]:
        """The weaker word for each word that demands, such as "may" for "must"."""
        return dict(self.weaker)

    @cached_property
    def weaker_pattern(self) -> re.Pattern[str]:
        return self.forms(self.weaker_forms)

    @cached_property
    def negative_words(self) -> re.Pattern[str]:
        """The words that only a negation has, wherever they are."""
        known = {word for form in self.negation_by_form for word in form.split()}
        words = {word for negated in self.form_by_negation for word in negated.split()} - known
        return self.forms(words)

    @cached_property
    def unit_forms(self) -> list[tuple[tuple[str, ...], re.Pattern[str]]]:
        """The forms of each unit, and the pattern of all of them."""
        return [(words, self.forms(words)) for words in self.units]

    @cached_property
    def month_names(self) -> re.Pattern[str]:
        return self.forms(self.months)

    def forms(self, forms: Iterable[str]) -> re.Pattern[str]:
        """Return a pattern of these forms as whole words; in Japanese, which has no spaces, anywhere."""
        pattern = "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) or "(?!)"
        return re.compile(pattern if self.code == "ja" else rf"(?<!\w)(?:{pattern})(?!\w)")


_DATA = tomllib.loads((Path(__file__).parent / "languages.toml").read_text("utf-8"))
SYMBOLS: tuple[tuple[str, str], ...] = tuple((old, new) for old, new in _DATA.pop("units")["symbols"])
"""Signs of units and currencies, each with the one that is put in its place."""
TURNED: tuple[tuple[str, str], ...] = tuple((old, new) for old, new in _DATA.pop("code")["turned"])
"""Operators of commands, queries and programs, each with another one."""
ABBREVIATIONS: frozenset[str] = frozenset(_DATA.pop("abbreviations")["words"])
"""Words that have a point and end no sentence."""
LANGUAGES = {code: convert(fields | {"code": code}, LanguageWords) for code, fields in _DATA.items()}
MONTHS = frozenset(month for language in LANGUAGES.values() for month in language.months)
_CODES_OF_WORDS = {
    word: [code for code, language in LANGUAGES.items() if word in language.words]
    for language in LANGUAGES.values()
    for word in language.words
}


def language_of(text: str) -> LanguageWords | None:
    """Return the language with most of the text's frequent words; None where two have equally many, or none has."""
    begin = text[:CHARACTERS_READ]
    if _JAPANESE.search(begin):
        return LANGUAGES["ja"]
    counts: Counter[str] = Counter()
    for word in WORD.finditer(begin):
        counts.update(_CODES_OF_WORDS.get(word[0].casefold(), ()))
    ranked = counts.most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return LANGUAGES[ranked[0][0]]
