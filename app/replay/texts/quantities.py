"""Reads numbers and amounts: 1,299.00, $5, 5 USD, 5 %, 30-day, 5–10 kg."""

from __future__ import annotations

import re

from app.replay.texts.value_kinds import GAP, LETTER, Reading, Value, W
from app.replay.texts.words import CODES, CURRENCIES, SCALE_LETTERS, SCALES, SIGNS, UNITS

_NUMBER = rf"""(?:
    [0-9]++(?![.,'][0-9]|{GAP}[0-9]{{3}})
  | [0-9]{{1,3}}(?:,[0-9]{{3}}){{1,6}}(?:\.[0-9]++)?(?![.,]?[0-9])
  | [0-9]{{1,3}}(?:\.[0-9]{{3}}){{1,6}}(?:,[0-9]++)?(?![.,]?[0-9])
  | [0-9]{{1,3}}(?:'[0-9]{{3}}){{1,6}}(?:[.,][0-9]++)?(?![.,']?[0-9])
  | [0-9]{{1,2}}(?:,[0-9]{{2}}){{1,5}},[0-9]{{3}}(?:\.[0-9]++)?(?![.,]?[0-9])
  | (?<![0-9]{GAP})[1-9][0-9]{{0,2}}(?:{GAP}[0-9]{{3}}){{1,6}}(?:[.,][0-9]++)?(?![.,]?{GAP}?[0-9])
  | (?<![0-9],)[0-9]++[.,][0-9]++(?![.,][0-9])
  | [0-9]++(?!\.[0-9])
  | \.[0-9]++(?!\.[0-9])
)"""
_SIGN = rf"(?:[A-Za-z]{{1,2}}(?=\$))?[{''.join(sorted(sign for sign in SIGNS if len(sign) == 1))}]"
_QUANTITY = re.compile(
    rf"(?P<sign>[-+])?(?:(?P<before>{_SIGN}|[A-Z]{{3}}){GAP}?)?(?P<minus>-)?(?P<digits>{_NUMBER})", re.VERBOSE
)
_RANGE = re.compile(
    rf"(?P<sign>{_SIGN})?(?P<low>{_NUMBER})(?:{GAP}?[–—]{GAP}?|{GAP}-{GAP}|-)(?:{_SIGN})?(?P<high>{_NUMBER})",
    re.VERBOSE,
)
_SCALE = re.compile(rf"(?:(?P<letter>[KkMmBb])|{GAP}?(?P<word>[{LETTER}]{{2,9}}))(?!{W})")
_MARK = re.compile(rf"{GAP}?({_SIGN}(?!{GAP}?[0-9])|%)")
_UNIT_PART = rf"[{LETTER}0-9°²³^/.]{{1,20}}+(?!{W})"
_UNIT_WORDS = re.compile(rf"(?:{GAP}|-)?(?P<first>(?=[{LETTER}°]){_UNIT_PART})(?:(?:{GAP}|-){_UNIT_PART}){{0,2}}")
_GAP = re.compile(f"{GAP}|-")
# What may follow a number: "30-star" holds the number 30; "30-AB" and "30.x" are codes.
_NUMBER_ENDS = re.compile(rf"(?=-[a-zß-ÿ]{{3,24}}(?!{W}|[-_.]{W}))|(?!{W}|[-_.]{W})")
_RANGE_ENDS = re.compile(rf"(?!{W}|[-_.,–—]{W})")

_GROUPS = re.compile(r"[ \xa0']")


def read_quantity(text: str, start: int) -> Reading | None:
    """Return the number or amount that begins here with a digit, a sign or a currency."""
    match = _QUANTITY.match(text, start)
    if not match:
        return None
    before = _currency(match["before"] or "")
    if match["before"] and not before:
        return None
    zeros, end = _read_scale(text, match.end(), is_money=bool(before))
    unit, end = read_unit(text, end)
    if not unit and end == match.end() and not _NUMBER_ENDS.match(text, end):
        return None
    value = number(match["digits"], before or unit, zeros, negative="-" in (match["sign"], match["minus"]))
    return (value,), end


def read_range(text: str, start: int) -> Reading | None:
    """Return both ends of a range, 5-10 or $5–$10; it grows, or else it is a code, a score or a subtraction."""
    match = _RANGE.match(text, start)
    if not match:
        return None
    unit, end = read_unit(text, match.end())
    if not unit and not _RANGE_ENDS.match(text, end):
        return None
    low, high = (number(match[name], _currency(match["sign"] or "") or unit) for name in ("low", "high"))
    if "code" in (low.kind, high.kind) or (len(low.form.split(".")[0]), float(low.form)) >= (
        len(high.form.split(".")[0]),
        float(high.form),
    ):
        return None
    return (low, high), end


def read_unit(text: str, start: int) -> tuple[str, int]:
    """Return the canonical unit or currency that follows a number here, and the position after it; "" for none.

    Of several that begin with the same word the longest counts: 5 business days, 80 m².
    """
    if match := _MARK.match(text, start):
        unit = _currency(match[1]) or UNITS.get(match[1], "")
        return unit, match.end() if unit else start
    match = _UNIT_WORDS.match(text, start)
    if not match:
        return "", start
    begin, word = match.start("first"), text[match.start("first") : match.end()]
    ends = [gap.start() for gap in _GAP.finditer(word)]
    first = match["first"]
    for spelling in (*(word[:end] for end in (len(word), *reversed(ends))), re.split("[./]", first, maxsplit=1)[0]):
        for known in (spelling, spelling.rstrip(".")):
            key = _GAP.sub(" ", known.lower())
            if unit := _currency(known) or CURRENCIES.get(key) or UNITS.get(key, ""):
                return unit, begin + len(known)
    return "", start


def number(digits: str, unit: str = "", zeros: int = 0, *, negative: bool = False) -> Value:
    """Return the number that is written in digits, with any separators; `zeros` are added to it.

    A zero in front makes it a code: a PIN, a postcode.
    """
    if not unit and not zeros and len(digits) > 1 and digits[0] == "0" and digits.isdecimal():
        return Value("code", digits)
    first, second = readings(digits, is_money=unit in CODES)
    sign = "-" if negative and first != "0" else ""
    other = sign + scaled(second, zeros) if second else ""
    return Value("amount" if unit else "number", sign + scaled(first, zeros), unit, other)


def _currency(sign: str) -> str:
    return SIGNS.get(sign.lower()) or (sign if sign in CODES else "") or SIGNS.get(sign[-1:], "")


def _read_scale(text: str, start: int, *, is_money: bool) -> tuple[int, int]:
    """Return the zeros of a scale at `start`, such as 6 for `million`, and its end; 0 and `start` without one."""
    match = _SCALE.match(text, start)
    if not match:
        return 0, start
    letter = (match["letter"] or "").lower()
    is_scale = letter == "k" or (letter and is_money)
    zeros = SCALE_LETTERS[letter] if is_scale else SCALES.get((match["word"] or "").lower(), 0)
    return zeros, match.end() if zeros else start


def readings(digits: str, *, is_money: bool = False) -> tuple[str, str]:
    """Return the canonical number, and a second one ("" when there is none) for what can be read in two ways.

    `1,299` and `1.299` can: as English has it the first is 1299 and the second 1.299; as German has it, the other
    way round. Of money, `1.299` is first 1299.
    """
    text = _GROUPS.sub("", digits)
    commas, dots = text.count(","), text.count(".")
    if commas and dots:
        group = "." if text.rfind(",") > text.rfind(".") else ","
        return canonical(text.replace(group, "").replace(",", ".")), ""
    if commas + dots > 1:
        return canonical(text.replace(",", "").replace(".", "")), ""
    if commas + dots == 0:
        return canonical(text), ""
    whole, fraction = canonical(text.replace(",", "").replace(".", "")), canonical(text.replace(",", "."))
    lead, _, tail = text.replace(",", ".").partition(".")
    if len(tail) != 3 or lead.startswith("0") or not 1 <= len(lead) <= 3:
        return fraction, ""
    return (whole, fraction) if commas or is_money else (fraction, whole)


def canonical(number: str) -> str:
    """Return a number of digits and at most one `.` without superfluous zeros: `01.50` is `1.5`."""
    whole, _, fraction = number.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def scaled(number: str, zeros: int) -> str:
    """Return a canonical number times ten to the power of `zeros`."""
    if not number or not zeros:
        return number
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(zeros, "0")
    return canonical(f"{whole}{fraction[:zeros]}.{fraction[zeros:]}")
