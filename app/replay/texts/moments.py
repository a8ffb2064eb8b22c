"""Reads dates and times of day."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.replay.texts.value_kinds import GAP, LETTER, Reading, Value, W
from app.replay.texts.words import ARABIC_MONTHS, MONTHS, ZONES

_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"
_NTH = r"(?:st|nd|rd|th|er|\.|º|ª)?"
_WORD = f"(?:[{LETTER}]{{3,12}}(?!{W})|{'|'.join(sorted(ARABIC_MONTHS, key=len, reverse=True))}(?![ء-ي]))".replace(
    " ", GAP
)
_TO = rf"(?:{GAP}?[-–—&/]{GAP}?|{GAP}(?:to|and|bis|und|au|et|al|y|e|a){GAP})"
_YEAR_FIRST = re.compile(
    rf"""([12][0-9]{{3}})([-/.])([01]?[0-9])\2([0-3]?[0-9])(?:[T_](?=[0-9])|(?!{W}|[-/.]{W}))
       | (?:([0-9]{{4}})年)?([0-9]{{1,2}})月([0-9]{{1,2}})日""",
    re.VERBOSE,
)
_YEAR_LAST = re.compile(rf"([0-3]?[0-9])([-/.])([0-3]?[0-9])\2([12][0-9]{{3}}|[0-9]{{2}})(?!{W}|[-/.]{W})")
_DAY_FIRST = re.compile(
    rf"""(?:(?P<first>{_DAY}){_NTH}{_TO})?(?P<day>{_DAY}){_NTH}(?:{GAP}|-)?(?:of{GAP}|de{GAP}|من{GAP})?
         (?P<month>{_WORD})(?:(?:[.,،]?{GAP}|{GAP}(?:de|del){GAP}|-)(?P<year>[12][0-9]{{3}})(?![0-9]))?""",
    re.VERBOSE,
)
_MONTH_FIRST = re.compile(
    rf"""(?P<month>{_WORD})\.?{GAP}(?:the{GAP})?
         (?P<day>{_DAY})(?:st|nd|rd|th)?(?!{W}|[.:'][0-9]|,[0-9]{{1,3}}(?![0-9])|%)
         (?:(?:{GAP}?[-–—]{GAP}?|{GAP}to{GAP})(?P<last>{_DAY})(?:st|nd|rd|th)?(?!{W}))?
         (?:[,،]?{GAP}?(?P<year>[12][0-9]{{3}})(?![0-9]))?""",
    re.VERBOSE,
)
_WHOLE_MONTH = re.compile(rf"(?P<month>{_WORD})\.?{GAP}(?:de{GAP}|del{GAP})?(?P<year>[12][0-9]{{3}})(?![0-9])")
_SELDOM_MONTHS = ("may", "march", "mar")  # in lower case

_HALF = rf"{GAP}?(?P<half{{0}}>[AaPp])(?:[Mm](?!{W})|\.[Mm](?!{W})\.?)"
_CLOCK = re.compile(
    rf"""(?P<hour>[01]?[0-9]|2[0-4])(?:
           (?::|{GAP}?h{GAP}?)(?P<minute1>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:[.,][0-9]{{1,9}})?)?
             (?:{_HALF.format(1)}|{GAP}?[Uu]hr(?!{W})|(?=Z(?!{W})|[+-][0-9]{{2}}:?[0-9]{{2}}(?!{W}))|(?!{W}|:[0-9]))
         | (?:\.(?P<minute2>[0-5][0-9]))?(?:{_HALF.format(2)}|{GAP}?(?:[Uu]hr|o'clock)(?!{W})))""",
    re.VERBOSE,
)
_UNTIL = re.compile(
    f"-(?:(?P<time>[0-2][0-9]:[0-5][0-9])(?!{W}|:)|[01]?[0-9](?::[0-5][0-9])?{GAP}?[AaPp](?:[Mm](?!{W})|[.][Mm]))"
)
_ABBREVIATIONS = "|".join(sorted((zone for zone in ZONES if zone.isupper()), key=len, reverse=True))
_ZONE_NAMES = "|".join(zone.replace(" ", GAP) for zone in sorted(ZONES, key=len, reverse=True) if zone.islower())
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>0[0-9]|1[0-4]):?(?P<minutes>[0-5][05])" + f"(?!{W}|:)")
_ZONE = re.compile(
    rf"""{GAP}?\(?(?:(?:UTC|GMT){GAP}?(?P<sign>[+-])(?P<hours>0?[0-9]|1[0-4])(?::?(?P<minutes>[0-5][05]))?(?!{W}|:)
       | (?P<name>(?:UTC|GMT|Z)(?!{W})|(?:{_ABBREVIATIONS})(?!{W}|{GAP}[A-ZÀ-Þ]{{2}})|(?i:{_ZONE_NAMES})(?!{W})))""",
    re.VERBOSE,
)


def read_date(text: str, start: int) -> Reading | None:
    """Return the date, or the days of a range of dates, that begins with a digit here."""
    if match := _YEAR_FIRST.match(text, start):
        year, _, month, day, *han = match.groups("")
        return _dates([day or han[2]], (month or han[1]).zfill(2), year or han[0], match.end())
    if match := _YEAR_LAST.match(text, start):
        return _short_date(match[1], match[3], match[4], match[2], match.end())
    if match := _DAY_FIRST.match(text, start):
        days = (match["first"], match["day"])
        return _dates(filter(None, days), _month(match["month"]), match["year"] or "", match.end())
    return None


def read_month(text: str, start: int) -> Reading | None:
    """Return the date, the days of a range, or the month with its year, that begins with a month's name here."""
    if match := _MONTH_FIRST.match(text, start):
        days = (match["day"], match["last"])
        return _dates(filter(None, days), _month(match["month"]), match["year"] or "", match.end())
    if (match := _WHOLE_MONTH.match(text, start)) and (month := _month(match["month"])):
        return (Value("date", month, match["year"]),), match.end()
    return None


def read_time(text: str, start: int) -> Reading | None:
    """Return the time of day that begins here: 14:30, 2:30 pm, 2 pm, 14h30, 14 Uhr, or that of a timestamp."""
    match = _CLOCK.match(text, start)
    if not match:
        return None
    hour, minute = int(match["hour"]), match["minute1"] or match["minute2"] or "00"
    second = f":{match['second']}" if match["second"] else ""
    half = (match["half1"] or match["half2"] or "").lower()
    if _begins_range(text, match.end(), "" if half or second else f"{hour:02}:{minute}"):
        zone, end = "", match.end() + 1  # the hyphen belongs to no other value
    else:
        zone, end = _read_zone(text, match.end())
    if not half:
        # 2:30 may be in the afternoon, 02:30 and 2:30:00 are not
        other = f"{hour + 12}:{minute}" if match["hour"] == str(hour) and 0 < hour < 12 and not second else ""
        return (Value("time", f"{hour % 24:02}:{minute}{second}", zone, other),), end
    if not 1 <= hour <= 12:
        return None
    return (Value("time", f"{hour % 12 + 12 * (half == 'p'):02}:{minute}{second}", zone),), end


def _begins_range(text: str, start: int, time: str) -> bool:
    """Return True if a later time, or one of twelve hours, follows a hyphen here: 10:00-12:00 has no offset."""
    match = _UNTIL.match(text, start)
    return match is not None and (not match["time"] or "" < time < match["time"])


def _read_zone(text: str, start: int) -> tuple[str, int]:
    """Return the offsets from UTC of the zone that follows a time here, and the position after it; "" for none."""
    match = _OFFSET.match(text, start) or _ZONE.match(text, start)
    if not match:
        return "", start
    if match.lastgroup == "name":
        return ZONES.get(match["name"]) or ZONES[match["name"].lower().replace("\xa0", " ")], match.end()
    offset = f"{match['hours']:0>2}{match['minutes'] or '00'}"
    return f"{'+' if offset == '0000' else match['sign']}{offset}", match.end()


def _month(word: str) -> str:
    return "" if word in _SELDOM_MONTHS else MONTHS.get(word.lower().replace("\xa0", " "), "")


def _dates(days: Iterable[str], month: str, year: str, end: int) -> Reading | None:
    numbers = [day.zfill(2) for day in days]
    if not "01" <= month <= "12" or not all("01" <= day <= "31" for day in numbers):
        return None
    return tuple(Value("date", f"{month}-{day}", year) for day in numbers), end


def _short_date(first: str, second: str, year: str, separator: str, end: int) -> Reading | None:
    """Read 11/05/2026, which is November 5 in the first place and May 11 in the second; dots put the day first."""
    if len(year) == 2:
        if separator == "." and not len(first) == len(second) == 2:  # a version, as 1.2.26
            return None
        year = f"20{year}"
    orders = [(second, first)] if separator == "." else [(first, second), (second, first)]
    forms = [f"{month:0>2}-{day:0>2}" for month, day in orders if 1 <= int(month) <= 12 and 1 <= int(day) <= 31]
    if not forms:
        return None
    return (Value("date", forms[0], year, forms[-1] if forms[-1] != forms[0] else ""),), end
