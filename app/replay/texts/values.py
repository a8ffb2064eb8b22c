"""Finds the values in a text: numbers, amounts, dates, times, codes, e-mail addresses and URLs.

Names are found by `names.py`, as they are known only from where they were spelled first. The work grows in step with
the text: what is read begins at a word, each pattern has bounded repetitions only, and what holds no value is skipped
as a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from app.replay.texts.moments import read_date, read_month, read_time
from app.replay.texts.quantities import number, read_quantity, read_range
from app.replay.texts.value_kinds import GAP, LETTER, Reading, Value, W, plainly
from app.replay.texts.words import ARABIC_MONTHS, CODES, LABELS, MONTHS, PLAIN_CODES, SIGNS

_MARKS = "".join(sorted(sign for sign in SIGNS if len(sign) == 1))
_START = re.compile(
    rf"{W}|[-+.](?=[0-9{_MARKS}-])|\((?=[0-9]{{3}}\))|[{_MARKS}](?={GAP}?[-.0-9])"
    rf"|(?<![ء-ي])(?:{'|'.join(ARABIC_MONTHS)})(?={GAP}[0-9])"
)
_WORD = re.compile(rf"{W}++(?:[-_.]++{W}++)*")
_HEAD = re.compile(rf"[{LETTER}]++")
_URL = re.compile(r"""(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww]{3}\.)[^\s<>"'`\])}|\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]++""")
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
_EMAIL = re.compile(rf"[\w.+%-]{{1,64}}@(?:[\w-]{{1,63}}\.){{1,8}}[{LETTER}]{{2,24}}")
_PHONE = re.compile(
    rf"(?:\+[0-9][0-9 \xa0()./-]{{6,18}}[0-9]|\(?[0-9]{{3}}\)?[ .-][0-9]{{3}}[ .-][0-9]{{4}}"
    rf"|0[0-9]{{1,4}}[ \xa0/-][0-9]{{3,8}}(?:[ \xa0-][0-9]{{2,8}}){{0,3}})(?!{W}|[-/][0-9])"
)
_CARD = re.compile(rf"[0-9]{{4}}([ -])[0-9]{{4}}(?:\1[0-9]{{4}}){{1,3}}(?!{W})")
_VERSION = re.compile(r"^v(?=[0-9]+\.)")  # v2.14.0 is 2.14.0
_JOINT = re.compile(r"^([a-z]{1,5})[-_]([0-9]+)$")  # CLM-20931 is CLM20931, and
_CODE_WITH_GAP = re.compile(
    rf"([A-Z]{{2,5}}){GAP}([1-9][0-9]{{1,8}})(?![\w%€$£°]|[.,:'/-][\w]|{GAP}[0-9%€$£°])"
)  # CLM 20931
# ISO 13616 prints account numbers in groups of four; the second one may be a bank's letters.
_IBAN = re.compile(
    rf"[A-Z]{{2}}[0-9]{{2}}{GAP}[0-9A-Z]{{4}}(?:{GAP}[0-9]{{4}}){{1,6}}"
    rf"(?:{GAP}(?=[A-Z]{{0,3}}[0-9])[0-9A-Z]{{1,4}}){{0,2}}(?!{W})"
)
_ORDINAL = re.compile(rf"([1-9][0-9]{{0,3}})(?:st|nd|rd|th)(?!{W})")
_NO_VALUE = re.compile(
    rf"""(?<![0-9/])24/7(?![0-9/]) | [0-9]\ufe0f?\u20e3 | ^[ \t>*_\#+•-]*+(?:
           [0-9]{{1,3}}[.)](?=[ \t*_]+[^\s*_])(?!{GAP}(?:{"|".join(sorted(MONTHS)).replace(" ", GAP)})(?!{W})))""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)

_LABEL_NUMBER = re.compile(f"{GAP}[0-9]")

LONGEST_KEPT = 1_000  # characters of texts with values that are cached for the next comparison


def find_values(text: str) -> tuple[Value, ...]:
    """Return the values of a text in their order, names aside; never raises.

    No values are numbers of list entries ("1. "), names of weekdays, and numbers in words.
    """
    return _find_again(text) if len(text) <= LONGEST_KEPT else _find(text)


def _find(text: str) -> tuple[Value, ...]:
    plain = _NO_VALUE.sub(lambda part: " " * len(part[0]), plainly(text))
    all_values: list[Value] = []
    end = 0
    while start := _START.search(plain, end):
        values, end = _read(plain, start.start())
        spelling = text[start.start() : end]
        all_values += (
            value if value.spelling else replace(value, spelling=_spelling(value, spelling)) for value in values
        )
    return tuple(all_values)


def _spelling(value: Value, text: str) -> str:
    """Return how a value is written in what was read with it: a label's number, and no sign that leads to the next."""
    if value.kind == "label":
        return text[value.form.index(" ") + 1 :]
    return text.rstrip({"date": "T_", "time": "-"}.get(value.kind, ""))


# A call is compared with each recorded call of its tool, and so are all calls of a turn: the same texts come again.
_find_again = lru_cache(maxsize=512)(_find)


def _read(text: str, start: int) -> Reading:
    is_letter = _HEAD.match(text, start)
    for reader in _LETTER_READERS if is_letter else _OTHER_READERS:
        if reading := reader(text, start):
            return reading
    return _read_word(text, start)


def _read_email(text: str, start: int) -> Reading | None:
    match = _EMAIL.match(text, start) if text.find("@", start, start + 65) >= 0 else None
    return ((Value("email", match[0].casefold()),), match.end()) if match else None


def _read_from_letter(text: str, start: int) -> Reading | None:
    """Read what begins with a letter and is no plain word."""
    head = _HEAD.match(text, start)
    word = head[0] if head else ""
    if word.lower() in MONTHS:
        return read_month(text, start)
    if word.lower() in LABELS and (reading := _read_label(text, word.lower(), start + len(word))):
        return reading
    if word.lower() in ("http", "https", "www"):
        return _read_url(text, start)
    if word in CODES or text[start + len(word) : start + len(word) + 1] == "$":
        return read_quantity(text, start)
    if match := _IBAN.match(text, start):
        return (Value("code", "".join(match[0].split()).casefold()),), match.end()
    if match := _CODE_WITH_GAP.match(text, start):
        return (Value("code", f"{match[1]}{match[2]}".casefold(), other=match[2]),), match.end()
    return None


def _read_label(text: str, word: str, end: int) -> Reading | None:
    """Read the number behind a label; a quantity, a date and whatever else begins with digits is what it is."""
    if not _LABEL_NUMBER.match(text, end):
        return None
    values, end = _read(text, end + 1)
    if len(values) == 1 and values[0].kind == "number" and values[0].form.isdecimal():
        (value,) = values
        return (Value("label", f"{word} {value.form}", other=value.form),), end
    return None


def _read_url(text: str, start: int) -> Reading | None:
    match = _URL.match(text, start)
    if not match:
        return None
    address = match[0].rstrip(".,;:!?*_~/…")
    host, slash, path = _SCHEME.sub("", address, count=1).partition("/")
    return (Value("url", host.lower() + slash + path, spelling=address),), match.end()


def _read_digits(text: str, start: int) -> Reading | None:
    """Read a telephone number, or a number in blocks of four; their spacing has no meaning."""
    match = _PHONE.match(text, start) or _CARD.match(text, start)
    return ((Value("code", "".join(filter(str.isdecimal, match[0]))),), match.end()) if match else None


def _read_ordinal(text: str, start: int) -> Reading | None:
    match = _ORDINAL.match(text, start)
    return ((Value("ordinal", match[1]),), match.end()) if match else None


def _read_word(text: str, start: int) -> Reading:
    match = _WORD.match(text, start)
    if not match:
        return (), start + 1
    word = match[0]
    if not any(map(str.isdecimal, word)) or word.casefold() in PLAIN_CODES:
        return (), match.end()
    count = word[:-1] if word[-1] in "xX" else word  # "2x"
    code = _JOINT.sub(r"\1\2", _VERSION.sub("", word.casefold(), count=1))
    return (number(count) if count.isdecimal() else Value("code", code),), match.end()


_LETTER_READERS: tuple[Callable[[str, int], Reading | None], ...] = (_read_email, _read_from_letter)
_OTHER_READERS: tuple[Callable[[str, int], Reading | None], ...] = (
    _read_email,
    read_date,
    read_month,
    read_time,
    _read_digits,
    read_range,
    _read_ordinal,
    read_quantity,
)
