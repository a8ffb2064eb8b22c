"""The sentences of a prompt's text. A guard map looks for the tests that protect each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from app.audit.languages import WORD
from app.audit.tokens import TextPiece, sentences_of

PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}")
_FENCES = ("```", "~~~")
_MARK = re.compile(r"[ \t]*(?:[-*+•#>|<]|[0-9]{1,9}[.)])")
_ENDS = ".!?…:;。！？：；"
# A line of at least so many characters without a mark at its end goes on in the next one.
_WRAPPED_AT = 60


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a fenced block. `number` counts from 0, `line` from 1."""

    number: int
    line: int
    piece: TextPiece


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a prompt's text, in their order; linear in the length of the text.

    A fenced block is one sentence. A sentence may have several lines, if the text was wrapped. Headings, rules of
    tables, and lines that only have placeholders are no sentences.
    """
    pieces: list[TextPiece] = []
    for begin, end, is_fenced in _parts(text):
        part = text[begin:end]
        if is_fenced:
            pieces.append(TextPiece(begin, end, part))
            continue
        for found in sentences_of(_unwrapped(part)):
            first, last = begin + found.begin, begin + found.end
            pieces.append(TextPiece(first, last, text[first:last]))
    kept = [piece for piece in pieces if is_sentence(piece.text)]
    placed, line, at = [], 1, 0
    for number, piece in enumerate(kept):
        line += text.count("\n", at, piece.begin)
        at = piece.begin
        placed.append(Sentence(number, line, piece))
    return placed


def is_sentence(piece: str) -> bool:
    """Return whether a piece of text is a sentence: no heading, and more than placeholders and marks."""
    return not piece.startswith("#") and WORD.search(PLACEHOLDER.sub("", piece)) is not None


def _parts(text: str) -> list[tuple[int, int, bool]]:
    """Return the parts of a text as (begin, end, whether it is a fenced block); a block without an end is none."""
    parts: list[tuple[int, int, bool]] = []
    begin, at, opened = 0, 0, None
    for line in text.splitlines(keepends=True):
        mark = line.lstrip()[:3]
        if opened is None and mark in _FENCES:
            opened = at, mark
        elif opened is not None and mark == opened[1]:
            parts += [(begin, opened[0], False), (opened[0], at + len(line.rstrip()), True)]
            begin, opened = at + len(line.rstrip()), None
        at += len(line)
    return [*parts, (begin, len(text), False)]


def _unwrapped(text: str) -> str:
    """Return a text of the same length in which a line break within a sentence is a blank."""
    lines = text.split("\n")
    joined = [lines[0]]
    for before, line in pairwise(lines):
        joined += [" " if _goes_on(before, line) else "\n", line]
    return "".join(joined)


def _goes_on(line: str, following: str) -> bool:
    """Return True if a sentence of a line goes on in the following one."""
    line, first = line.rstrip(), following.lstrip()[:1]
    if not line.strip() or not first or line[-1] in _ENDS or line.lstrip()[0] in "#|<`~":
        return False
    return not _MARK.match(following) and (first.islower() or len(line) >= _WRAPPED_AT)
