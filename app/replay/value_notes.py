"""Notes how two values may be the same id, name, address or list, though they are written differently."""

from __future__ import annotations

import re
from typing import Any

from app.replay.case_types import Effect
from app.replay.json_differences import equal
from app.replay.scalar_forms import joined_form
from app.replay.tables import TABLES
from app.replay.text_kinds import AROUND_WORDS, EAST_ASIAN
from app.replay.texts.value_kinds import plainly
from app.replay.texts.words import TITLES
from app.values.budget import WorkBudget
from app.values.storable import decode_json
from app.values.unicode import nfkc, without_accents

LONGEST = 1_000  # characters of a text that may be a name
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae", "ł": "l", "đ": "d"})
_HYPHEN = re.compile(r"(?<=[^\W\d])-(?=[^\W\d])")
_WITH_CODE, _NATIONAL = (
    re.compile(r"(?:\+|00)[1-9][0-9 ()./-]*", re.ASCII),
    re.compile(r"0?[1-9][0-9 ()./-]*", re.ASCII),
)
_NO_DIGITS = re.compile("[^0-9]|^00")
_LONGEST_NUMBER, _FEWEST_DIGITS, _CODE_DIGITS = 30, 6, range(1, 4)
_NOUN, _SHORTEST_NOUN = re.compile("[a-z_-]{1,50}"), 3
RESOURCES: dict[str, str] = {name: names.split()[0] for names in TABLES["forms"]["resources"] for name in names.split()}
"""The name of each kind of Kubernetes by its spellings."""
_BETWEEN_NAMES = re.compile(r"[\s・·]")
_BETWEEN_ENTRIES = re.compile(r"[,;\n]")


def text_note(left: str, right: str, effect: Effect, *, is_fixed: bool) -> str:
    """Return how two texts may be the same value; "" for texts that are simply different.

    A schema that `is_fixed` leaves only the ways to write the letters and digits of an id.
    """
    if joined_form(left) == joined_form(right):
        return "the same letters and digits, separated differently"
    if any(_is_international(*pair) or _is_dialled(*pair) for pair in ((left, right), (right, left))):
        return "the same telephone number, with the code of a country"
    if _are_one_noun(left, right, effect):
        return "the same word in singular and plural, or its short form"
    if is_fixed or max(len(left), len(right)) > LONGEST:
        return ""
    if any(spelled(left) == spelled(right) for spelled in (without_accents, _spelled_out)):
        return "the same letters, with other accents"
    if EAST_ASIAN.search(unspaced := _unspaced(left)) and unspaced == _unspaced(right):
        return "the same characters, with other spaces or widths"
    first, other = (sorted(_words(text)) for text in (left, right))
    if first == other:
        return "the same words, in another order or with other signs"
    return _note_of_words({*first}, {*other}, effect)


def _is_international(whole: str, national: str) -> bool:
    """Return whether a telephone number is another one with the code of a country, as `+358 40 …` is of `040 …`."""
    is_short = max(len(whole), len(national)) <= _LONGEST_NUMBER
    if not (is_short and _WITH_CODE.fullmatch(whole) and _NATIONAL.fullmatch(national)):
        return False
    digits, subscriber = _NO_DIGITS.sub("", whole), _NO_DIGITS.sub("", national).removeprefix("0")
    code = len(digits) - len(subscriber)
    return len(subscriber) >= _FEWEST_DIGITS and digits.endswith(subscriber) and code in _CODE_DIGITS


def _is_dialled(left: str, right: str) -> bool:
    """Return whether two telephone numbers have the same code of a country, after `+` in one and `00` in the other."""
    is_short = max(len(left), len(right)) <= _LONGEST_NUMBER
    if not (is_short and left[:1] == "+" and right[:2] == "00" and _WITH_CODE.fullmatch(left)):
        return False
    return bool(_WITH_CODE.fullmatch(right)) and _NO_DIGITS.sub("", left) == _NO_DIGITS.sub("", right)


def _are_one_noun(left: str, right: str, effect: Effect) -> bool:
    """Return whether two words name one kind of Kubernetes, or one in a read is the other's plural in English."""
    one, other = sorted((left.strip().lower(), right.strip().lower()), key=len)
    if other in RESOURCES:
        return RESOURCES[other] == RESOURCES.get(one)
    is_noun = effect == "read" and len(one) >= _SHORTEST_NOUN and _NOUN.fullmatch(one) is not None
    return is_noun and other in (f"{one}s", f"{one}es", f"{one.removesuffix('y')}ies")


def list_note(left: Any, right: Any, budget: WorkBudget) -> str:
    """Return how one value is a list of the other, or its text; "" for other values."""
    for entries, value in ((left, right), (right, left)):
        is_entry = isinstance(entries, list) and len(entries) == 1 and not isinstance(value, list)
        if is_entry and equal(entries[0], value, budget):
            return "one entry, and a list of it"
        if isinstance(entries, dict | list) and isinstance(value, str):
            return _note_of_text(entries, value, budget)
    return ""


def _note_of_words(first: set[str], other: set[str], effect: Effect) -> str:
    """Return which words only one of two values has, if these may be without meaning.

    In a read that may be any words without digits; in a write, titles of persons and the name before an address.
    """
    more, common = first ^ other, first & other
    if not common or (first - other and other - first) or any(char.isdecimal() for word in more for char in word):
        return ""
    if effect == "read" or more <= TITLES or (_has_address(common) and not _has_address(more)):
        return f"words that only one call has: {', '.join(sorted(more))}"
    return ""


def _has_address(words: set[str]) -> bool:
    return any("@" in word for word in words)


def _note_of_text(entries: Any, text: str, budget: WorkBudget) -> str:
    budget.spend(1 + len(text))
    if text.lstrip()[:1] not in ("{", "["):
        parts = [part.strip() for part in _BETWEEN_ENTRIES.split(text)]
        return "the same entries, joined in a text" if parts == entries else ""
    try:
        return "the same value as JSON in a text" if equal(entries, decode_json(text), budget) else ""
    except ValueError:
        return ""


def _words(text: str) -> list[str]:
    """Return the words in lower case, with digits and signs of other scripts in ASCII, without signs around words."""
    return [word for part in _HYPHEN.sub(" ", plainly(text)).split() if (word := part.strip(AROUND_WORDS).casefold())]


def _unspaced(text: str) -> str:
    """Return a text in the plain forms of its characters, without spaces and dots between parts of names."""
    return _BETWEEN_NAMES.sub("", nfkc(text)).casefold()


def _spelled_out(text: str) -> str:
    return text.casefold().translate(_SPELLED_OUT)
