"""Finds proper names: words that the sources of a text spell with a capital letter where no sentence begins.

Scripts without capital letters have no names here, and neither have sentences in German, which capitalises every noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from app.replay.texts.value_kinds import Value, plainly
from app.replay.texts.words import (
    CAPITALISED_MONTHS,
    CODES,
    GERMAN,
    GREETINGS,
    LABELS,
    NO_NAMES,
    TITLES,
    UNITS,
    ZONES,
)

TITLE_WORDS = 6  # a text of no more words and without a full stop is a title: its first word may be a name

# A part of a code, as `a'b` of `a'b_1`, is read to its end and left out: a search from each `'` on would be quadratic.
_WORD = re.compile(r"(?<![\w-])[^\W\d_]++(?:['-][^\W\d_]++)*((?=\w|[-_]\w|'[^\W\d_]))?")
# Most places begin no title: looking at one letter first is several times as fast as trying each title.
_FIRST_LETTERS = "".join(sorted({title[0] for title in TITLES}))
_TITLED = re.compile(
    rf"(?<!\w)(?=[{_FIRST_LETTERS}])(?:{'|'.join(TITLES)})\.?[ \xa0]([^\W\d_]++(?:-[^\W\d_]++)*)", re.IGNORECASE
)
_ZONE_NAME = re.compile(rf"\b(?:{'|'.join(zone for zone in ZONES if ' ' in zone)})\b", re.IGNORECASE)
_NUMBERED = re.compile("[ \xa0][0-9]")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SENTENCE_ENDS = frozenset('.!?:;\n\r\t"“”„«»()[]{}•*#>|-–—…')
_POSSESSIVE = ("'s", "'S")


@dataclass(frozen=True, slots=True)
class Names:
    """Words that can be names, as sources spell them.

    The `weak` words occur only at the beginning of a text, as "Approved" may; they are names only inside a sentence.
    """

    strong: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()

    def joined(self, other: Names) -> Names:
        """Return the words of both; what is strong in one is strong."""
        strong = self.strong | other.strong
        return Names(strong, (self.weak | other.weak) - strong)


def names_of(text: str, plain: Set[str], *, is_name: bool = False) -> Names:
    """Return the names in a source.

    `plain` are words that are no names. With `is_name` a short text is a name, including its first word.
    """
    readable = _without_zones(text)
    words = list(_words(readable))
    if _is_german(match[0] for match in words):
        return Names()
    strong, weak = set[str](), set[str]()
    is_title = len(words) <= TITLE_WORDS and not readable.rstrip().endswith((".", "!", "?"))
    for match in words:
        word = _bare(match[0])
        is_label = word.lower() in LABELS and _NUMBERED.match(readable, match.end())
        if not _is_capitalised(word) or word.lower() in plain or is_label:
            continue
        if (is_name and is_title) or word.isupper() or not _starts_sentence(readable, match.start()):
            strong.add(word)
        elif is_title:
            weak.add(word)
    return Names(frozenset(strong), frozenset(weak - strong))


def plain_words(text: str) -> set[str]:
    """Return the words that a text writes without a capital letter, addresses aside; `emailBody` has `email`."""
    text = " ".join(part for part in text.split() if "@" not in part and "://" not in part)
    return {word.lower() for match in _words(text) for word in _HUMP.split(match[0]) if not word[0].isupper()}


def words_and_titled(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return all words of a text in lower case, and the words that follow a title, as in "Ms. Schmidt"."""
    plain = plainly(text)
    words = frozenset(_bare(match[0]).casefold() for match in _words(plain))
    return words, frozenset(match[1].casefold() for match in _TITLED.finditer(plain))


def find_names(text: str, known: Names) -> Iterator[Value]:
    """Yield the names in a text that are `known`; neighbours make one. The person who is greeted is left out."""
    plain = _without_zones(text)
    run: list[re.Match[str]] = []
    is_greeted = False
    for match in _words(plain):
        is_known = _bare(match[0]) in known.strong or _bare(match[0]) in known.weak
        if _NUMBERED.match(plain, match.end()) and (match[0].isupper() or match[0].lower() in LABELS):
            is_known = False  # CLM 20931 is a code, and Room 12 a label
        if run and not (is_known and plain[run[-1].end() : match.start()] in (" ", "\xa0")):
            yield from _name(plain, run, known)
            run = []
        is_greeted = match[0].lower() in GREETINGS or (is_greeted and match[0][0].isupper())
        if is_known and not is_greeted:
            run.append(match)
    if run:
        yield from _name(plain, run, known)


def _words(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _WORD.finditer(text) if match[1] is None)


def _name(text: str, run: list[re.Match[str]], known: Names) -> Iterator[Value]:
    words = [_bare(match[0]) for match in run]
    if known.strong.isdisjoint(words) and _starts_sentence(text, run[0].start()):
        return
    yield Value("name", " ".join(words).casefold(), spelling=" ".join(words))


def _without_zones(text: str) -> str:
    """Return a text, of the same length, without names of time zones, which are those of places."""
    return _ZONE_NAME.sub(lambda zone: " " * len(zone[0]), plainly(text))


def _bare(word: str) -> str:
    return word[:-2] if word.endswith(_POSSESSIVE) else word


def _is_capitalised(word: str) -> bool:
    lower = _bare(word).lower()
    return (
        word[0].isupper()
        and len(word) > 1
        and not (lower in NO_NAMES or lower in CAPITALISED_MONTHS or lower in UNITS or word in CODES or word in ZONES)
    )


def _starts_sentence(text: str, start: int) -> bool:
    before = text[max(start - 12, 0) : start].rstrip(" \xa0")
    if not before or before[-1] not in _SENTENCE_ENDS:
        return not before
    words = before[:-1].split()
    return not (before[-1] == "." and words and words[-1].lower() in TITLES)  # "Dr. Smith"


def _is_german(words: Iterable[str]) -> bool:
    return sum(word in GERMAN for word in words) >= 2
