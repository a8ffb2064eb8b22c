"""Operators that change how a text looks and keep its meaning."""

from __future__ import annotations

import re

from app.audit.changes import Change, replaced
from app.audit.draw import Draw
from app.audit.languages import LANGUAGES, LanguageWords
from app.audit.planted import TextOperator
from app.audit.probed_text import ProbedText
from app.audit.tokens import TextPiece, entries_of, sentences_of

_MARKS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`+|^#+ +", re.MULTILINE)
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_ZERO_CENTS = re.compile(r"([0-9]+)[.,]00")
# The day before the name of a month, and the year after it.
_DAY = re.compile(r"(?<![\w.,:/-])([0-9]{1,2})\.? $")
_YEAR = re.compile(r" ([0-9]{4})(?![\w,:/-]|\.[0-9])")
_ITEMS_MAX = 20


def marks_stripped(probed: ProbedText, draw: Draw) -> Change | None:
    """Strip the marks of bold text, code and headings."""
    text = _MARKS.sub("", probed.text)
    return Change(text, was="", now="") if text != probed.text else None


def marks_added(probed: ProbedText, draw: Draw) -> Change | None:
    """Print a value in bold type, else the first sentence."""
    if "*" in probed.text or "`" in probed.text or "|" in probed.text:
        return None
    if values := [value for value in probed.values if value.kind in ("number", "date", "time", "identifier")]:
        value = draw.rotated(values)[0]
        return replaced(probed.text, value, f"**{value.text}**")
    first = next(iter(sentences_of(probed.text)), None)
    if first is None or "\n" in first.text:
        return None
    return replaced(probed.text, first, f"**{first.text}**")


def list_joined(probed: ProbedText, draw: Draw) -> Change | None:
    """Write the items of a list as one line."""
    for group in draw.rotated(entries_of(probed.text)):
        if any("|" in item.text or "\n" in item.text for item in group) or len(group) > _ITEMS_MAX:
            continue
        begin = probed.text.rfind("\n", 0, group[0].begin) + 1
        items = [item.text.rstrip(".;,") for item in group]
        line = "; ".join(items) + "."
        part = TextPiece(begin, group[-1].end, probed.text[begin : group[-1].end])
        return replaced(probed.text, part, line)
    return None


def number_rewritten(probed: ProbedText, draw: Draw) -> Change | None:
    """Leave out the separators of thousands or the zeros after the point of a number."""
    language = probed.language
    if language is None:
        return None
    mark = re.escape(language.thousands)
    for value in draw.rotated(probed.values):
        if value.kind != "number":
            continue
        if re.fullmatch(rf"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+(?:[.,][0-9]{{1,2}})?", value.text):
            return replaced(probed.text, value, value.text.replace(language.thousands, ""))
        if cents := _ZERO_CENTS.fullmatch(value.text):
            return replaced(probed.text, value, cents[1])
    return None


def date_rewritten(probed: ProbedText, draw: Draw) -> Change | None:
    """Write a date with the name of its month, or one with a name as ISO 8601 does."""
    language = probed.language
    if language is None or not language.months:
        return None
    for value in draw.rotated(probed.values):
        iso = _ISO.fullmatch(value.text)
        if iso and 1 <= int(iso[2]) <= 12:
            mark = "." if language.code == "de" else ""
            between = " de " if language.code in ("es", "pt") else " "
            month = language.months[int(iso[2]) - 1]
            return replaced(probed.text, value, f"{int(iso[3])}{mark}{between}{month}{between}{iso[1]}")
    return _as_iso(probed.text, language)


def courtesy_added(probed: ProbedText, draw: Draw) -> Change | None:
    """Add a polite sentence without content."""
    language = probed.language
    if language is None or language.courtesy in probed.text:
        return None
    text = probed.text.rstrip()
    between = "" if language is LANGUAGES["ja"] else " "
    return Change(f"{text}{between}{language.courtesy}", "", language.courtesy)


HARMLESS: dict[str, TextOperator] = {
    operator.__name__: operator
    for operator in (marks_stripped, marks_added, list_joined, number_rewritten, date_rewritten, courtesy_added)
}


def _as_iso(text: str, language: LanguageWords) -> Change | None:
    """Write the first date with the name of a month as ISO 8601 does."""
    for month in language.month_names.finditer(text):
        day = _DAY.search(text, max(0, month.start() - 6), month.start())
        year = _YEAR.match(text, month.end())
        if day and year:
            part = TextPiece(day.start(), year.end(), text[day.start() : year.end()])
            date = f"{year[1]}-{language.months.index(month[0]) + 1:02}-{int(day[1]):02}"
            return replaced(text, part, date)
    return None
