"""Reads the numbers that a text writes in words: five, five hundred, treinta y cinco, fünfundzwanzig.

A number of several words differs from each of its words, so it is read as a whole. Numbers with a fraction, as "two and
a half", have no digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.replay.texts.compound_numbers import compound
from app.replay.texts.quantities import read_unit
from app.replay.texts.value_kinds import LETTER, Value, plainly
from app.replay.texts.vocabulary import HUNDREDS, MULTIPLIERS, NEVER_ALONE, NUMBER_WORDS, ONES, PARTS, SCALES, VAGUE

_WORD = re.compile(rf"(?<!\w)[{LETTER}]++(?!\w)")
_GAPS = (" ", "\xa0", "-")
_AND = ("and", "und", "et", "y", "e")
_FRACTION = re.compile(rf"[ \xa0-](?:{'|'.join(PARTS)})(?!\w)", re.IGNORECASE)
_DIGIT_BEFORE = re.compile(r"[0-9][ \xa0-]?$")

_SIMPLE = {word: int(digits) for word, digits in (NUMBER_WORDS | HUNDREDS).items() if "-" not in word}
_SIMPLE |= dict.fromkeys(ONES, 1) | {"vingts": 20, "twice": 2, "thrice": 3, "zweimal": 2, "dreimal": 3, "tweemaal": 2}
_ENGLISH = frozenset({digits: word for word, digits in reversed(NUMBER_WORDS.items())}.values()) | {"one"}
# Abbreviations such as "mio" are left out, because elsewhere they are other words.
_TIMES = {word: int(number) for word, number in MULTIPLIERS.items()}
_TIMES |= {word: 10**zeros for word, zeros in SCALES.items() if len(word) > 3 and word not in _TIMES}


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a number: what it adds, or what it multiplies those before it by."""

    text: str
    adds: int = 0
    times: int = 0


@dataclass(slots=True)
class _Numeral:
    """A number that is read word by word: what is complete up to the last thousand, and what came after it."""

    whole: int = 0
    part: int = 0
    least: int = 10**18  # the last multiplier from a thousand on, and the next is smaller
    last: int = 0  # what the last word adds, or 100 and more behind a multiplier

    def takes(self, word: _Word, joint: str, gap: str) -> bool:
        """Return True if a word goes on with the number; `joint` is the "and" between, if there is one."""
        if word.times >= 1_000:
            return not joint and word.times < self.least and self.part > 0
        if word.times:
            return not joint and 0 < self.part < 100 and self.last < 100
        if self.last >= 100:
            return word.adds < (1_000 if self.last >= 1_000 else 100)
        if joint == "and" or joint == "und":
            return False
        if self.last == 4 and word.text in ("vingt", "vingts"):
            return not joint
        if self.last == 10 and 7 <= word.adds <= 9:  # dix-sept
            return gap == "-"
        is_ten = self.last >= 20 and self.last % 10 == 0
        return is_ten and (word.adds < 10 or (self.last in (60, 80) and 10 <= word.adds < 20))

    def add(self, word: _Word) -> None:
        """Go on with a word."""
        if word.times >= 1_000:
            self.whole += max(self.part, 1) * word.times
            self.part, self.least, self.last = 0, word.times, word.times
        elif word.times:
            self.part, self.last = max(self.part, 1) * word.times, 100
        elif self.last == 4 and word.text in ("vingt", "vingts"):
            self.part, self.last = self.part + 76, 80
        else:
            self.part, self.last = self.part + word.adds, word.adds


def find_spelled_out(text: str) -> Iterator[Value]:
    """Yield the numbers that a text writes in words, with their units."""
    plain = plainly(text)
    matches = list(_WORD.finditer(plain))
    index = 0
    while index < len(matches):
        first = _word(matches[index][0])
        if first is None or not _starts(plain, matches, index, first):
            index += 1
            continue
        numeral, last = _read(plain, matches, index, first)
        end = matches[last].end()
        unit = read_unit(plain, end)[0]
        is_alone = last == index and ((first.text in NEVER_ALONE and not unit) or first.text in ONES)
        if not (is_alone or _FRACTION.match(plain, end) or _goes_on(plain, matches, last)):
            yield Value("number", str(numeral.whole + numeral.part), unit)
        index = last + 1


def _read(plain: str, matches: Sequence[re.Match[str]], index: int, word: _Word) -> tuple[_Numeral, int]:
    """Return the number that begins with a word, and the index of its last word."""
    numeral = _Numeral()
    numeral.add(word)
    while True:
        after = index + 1
        joint = matches[after][0].lower() if after < len(matches) and matches[after][0].lower() in _AND else ""
        after += bool(joint)
        if after >= len(matches) or not _adjoin(plain, matches, index, after):
            return numeral, index
        found = _word(matches[after][0])
        gap = plain[matches[index].end() : matches[after].start()]
        if found is None or not numeral.takes(found, joint, gap) or _is_unit(plain, matches, after, word, found):
            return numeral, index
        if joint and after + 1 < len(matches) and _adjoin(plain, matches, after, after + 1):
            follower = _word(matches[after + 1][0])
            if follower and follower.times:  # between one hundred and two hundred
                return numeral, index
        numeral.add(found)
        index, word = after, found


def _word(text: str) -> _Word | None:
    lower = text.lower()
    if times := _TIMES.get(lower):
        return _Word(lower, times=times)
    adds = _SIMPLE.get(lower) or compound(lower)
    return _Word(lower, adds) if adds else None


def _starts(plain: str, matches: Sequence[re.Match[str]], index: int, word: _Word) -> bool:
    """Return True if a number can begin here: neither inside of a word with a hyphen nor behind digits or "a few"."""
    start = matches[index].start()
    if plain[max(start - 1, 0) : start] == "-":
        return False
    if word.times == 0:
        return True
    before = {match[0].lower() for match in matches[max(index - 3, 0) : index]}
    return not _DIGIT_BEFORE.search(plain[max(start - 2, 0) : start]) and VAGUE.isdisjoint(before)


def _adjoin(plain: str, matches: Sequence[re.Match[str]], index: int, last: int) -> bool:
    """Return True if words are next to each other."""
    pairs = zip(matches[index:last], matches[index + 1 : last + 1], strict=True)
    return all(plain[one.end() : other.start()] in _GAPS for one, other in pairs)


def _goes_on(plain: str, matches: Sequence[re.Match[str]], index: int) -> bool:
    """Return True if a hyphen joins another number, as in "two-three" and "nineteen-ninety"."""
    end, after = matches[index].end(), index + 1
    return (
        plain[end : end + 1] == "-"
        and after < len(matches)
        and _word(matches[after][0]) is not None
        and (matches[after].start() == end + 1 and matches[after][0].lower() not in ONES)
    )


def _is_unit(plain: str, matches: Sequence[re.Match[str]], index: int, before: _Word, word: _Word) -> bool:
    """Return True for the cents of English and of one euro, which are no hundreds: five cents, six cents each."""
    if word.text not in ("cent", "cents"):
        return False
    is_unit = not read_unit(plain, matches[index].end())[0]
    return before.text in ONES or (before.text in _ENGLISH and (is_unit or before.text != "six"))
