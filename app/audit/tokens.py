"""The parts of a text that operators change: values, sentences, rows and list items. All reads are linear."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from app.audit.languages import ABBREVIATIONS, MONTHS

_CJK = "\u3000-\u303f\u3040-\u9fff\uff00-\uffef"
_MARK = rf"""\s|()\[\]{{}}<>"'`*“”«»„,;{_CJK}"""
_RUN = re.compile(rf"[^{_MARK}]+(?:,[0-9]+[^{_MARK}]*)*")
_CORE = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}")
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[)\"'”]*+(?=\s)|[。！？]++|\n++")
_LAST_WORD = re.compile(r"[^\W_](?:\.?[^\W_])*$")
_NEXT_WORD = re.compile(r"[ ]+([^\W\d_]{1,20})")
_ITEM = re.compile(r"[ \t]*(?:[-*•]|[0-9]+[.)])[ \t]+")
_RULE = re.compile(r"[ \t|:+-]+")
_UNIT = re.compile(r"([0-9](?:[0-9.,]*[0-9])?)([^\W\d_°]{1,3}|°[CF]|%|€|\$|£)")
_CORES_MAX = 200  # characters of a value


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text, from `begin` to `end`."""

    begin: int
    end: int
    text: str

    def replaced(self, whole: str, by: str) -> str:
        return whole[: self.begin] + by + whole[self.end :]


@dataclass(frozen=True, slots=True)
class FoundValue(TextPiece):
    """A value: a number, date, time, address or identifier."""

    kind: str


def values_of(text: str) -> Iterator[FoundValue]:
    """Yield the values of a text, without the marks around them."""
    for run in _RUN.finditer(text):
        word = run[0]
        core = _CORE.search(word) if len(word) <= _CORES_MAX else None
        if core is None or _is_item_number(text, run):
            continue
        begin = run.start() + core.start()
        if core[0][0].isdigit() and (measured := _UNIT.fullmatch(core[0])):
            yield FoundValue(begin, begin + len(measured[1]), measured[1], "number")
        elif kind := kind_of(core[0]):
            yield FoundValue(begin, begin + len(core[0]), core[0], kind)


def kind_of(word: str) -> str | None:
    """Return the kind of a value; None for a word that is none."""
    if "://" in word:
        return "url"
    if "@" in word[1:-1]:
        return "address"
    if not any(character in "0123456789" for character in word):
        return None
    for kind, pattern in (("date", _DATE), ("time", _TIME), ("number", _NUMBER)):
        if pattern.fullmatch(word):
            return kind
    return "identifier"


def same_value(kind: str, left: str, right: str) -> bool:
    """Return True if two values of one kind may be the same in another form."""
    return not forms_of(kind, left).isdisjoint(forms_of(kind, right))


def forms_of(kind: str, text: str) -> set[Hashable]:
    """Return what a value may be; values of one kind that have one of these in common may be the same."""
    return {_digits(text)} if kind == "date" else {text.casefold(), *readings(text)}


def shape_of(word: str) -> str:
    """Return a word with 9 for each group of digits and a for each group of letters."""
    return re.sub(r"[^\W\d_]+", "a", re.sub("[0-9]+", "9", word))


def readings(word: str) -> set[Decimal]:
    """Return the numbers that a word may be, as a comma or a point may separate decimals or thousands."""
    if not _NUMBER.fullmatch(word):
        return set()
    both = {word.replace(",", ""), word.replace(".", "").replace(",", ".")}
    return {Decimal(text) for text in both if text.count(".") <= 1}


def sentences_of(text: str) -> list[TextPiece]:
    """Return the sentences of a text; a line ends one, too."""
    sentences, begin = [], 0
    for end in _SENTENCE_END.finditer(text):
        if end[0] == "." and _is_abbreviated(text, end.start()):
            continue
        sentences.append(_stripped(text, begin, end.end()))
        begin = end.end()
    sentences.append(_stripped(text, begin, len(text)))
    return [sentence for sentence in sentences if sentence.text]


def entries_of(text: str) -> list[list[TextPiece]]:
    """Return the groups of neighbouring table rows and list items, each as its content without the mark before it."""
    groups: list[list[TextPiece]] = [[]]
    begin = 0
    for line in text.splitlines(keepends=True):
        entry = _entry(line, begin)
        if entry is not None:
            groups[-1].append(entry)
        elif not _RULE.fullmatch(line.rstrip()) and groups[-1]:
            groups.append([])
        begin += len(line)
    return [group for group in groups if len(group) > 1]


def _is_abbreviated(text: str, end: int) -> bool:
    """Return True for the point of an abbreviation, as in `Dr.`, and of the number of a day, as in `20. Juni`."""
    last = _LAST_WORD.search(text, max(0, end - 8), end)
    if last is None or text[max(0, last.start() - 1) : last.start()].strip("( \n"):
        return False
    if last[0].isdecimal():
        following = _NEXT_WORD.match(text, end + 1)
        return following is not None and (following[1] in MONTHS or following[1][0].islower())
    return last[0] in ABBREVIATIONS or len(last[0]) == 1


def _entry(line: str, begin: int) -> TextPiece | None:
    content = line.rstrip()
    if mark := _ITEM.match(content):
        return TextPiece(begin + mark.end(), begin + len(content), content[mark.end() :])
    if content.count("|") > 1 and not _RULE.fullmatch(content):
        return TextPiece(begin, begin + len(content), content)
    return None


def _is_item_number(text: str, run: re.Match[str]) -> bool:
    """Return True for the number of a list item, as in `1. First`."""
    if not run[0].rstrip(".)").isdecimal() or text[run.end() : run.end() + 1] not in ("", " ", ")"):
        return False
    marked = run[0][-1] in ".)" or text[run.end() : run.end() + 1] == ")"
    line = text.rfind("\n", max(0, run.start() - 8), run.start()) + 1
    return marked and (line > 0 or run.start() < 8) and not text[line : run.start()].strip(" \t(#*")


def _stripped(text: str, begin: int, end: int) -> TextPiece:
    piece = text[begin:end]
    left = len(piece) - len(piece.lstrip())
    return TextPiece(begin + left, begin + left + len(piece.strip()), piece.strip())


def _digits(word: str) -> tuple[str, ...]:
    """Return the groups of digits without zeros in front, which the parts of a date have in any order."""
    return tuple(sorted(group.lstrip("0") for group in re.findall("[0-9]+", word)))
