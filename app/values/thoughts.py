"""Separates what a model has thought from its answer, where both come as one text: `<think>…</think>The answer.`

The thoughts are between these tags, at the beginning only: a later `<think>` belongs to the answer. A text that ends
before the closing tag is all thoughts. A closing tag in code does not end them: one at the end of backquotes, or one in
a fence that also has its opening tag.
"""

from __future__ import annotations

import re
from typing import Literal

Piece = tuple[Literal["reasoning", "token"], str]
_OPENING, _CLOSING = "<think>", "</think>"
_BEGINS = re.compile(rf"\s*{_OPENING}")
# Each begins with a character, which C finds in half of the time that "`+" needs.
_MARKS = re.compile(r"</?think>|``*|\n")
_FENCE = 3


def separated(text: str) -> tuple[str | None, str]:
    """Return the thoughts, None for a text without any, and the answer."""
    if not _BEGINS.match(text):
        return None, text
    splitter = ThoughtSplitter()
    pieces = splitter.read(text) + splitter.end()
    thoughts, answer = ("".join(part for kind, part in pieces if kind == name) for name in ("reasoning", "token"))
    return thoughts, answer


class ThoughtSplitter:
    """Reads a text in pieces of any size, each in time that grows with it."""

    def __init__(self) -> None:
        self._state: Literal["beginning", "thoughts", "gap", "answer"] = "beginning"
        # What may be the beginning of the opening tag, and the blanks before it.
        self._blanks: list[str] = []
        self._begun = ""
        self._thoughts = _Thoughts()

    def read(self, text: str) -> list[Piece]:
        """Return the thoughts and the answer in a piece; the end of it may wait for the next piece."""
        pieces: list[Piece] = []
        if self._state == "beginning":
            text = self._after_opening(text)
        if self._state == "thoughts":
            thoughts, rest = self._thoughts.read(text)
            pieces.append(("reasoning", thoughts))
            self._state, text = ("thoughts", "") if rest is None else ("gap", rest)
        if self._state == "gap" and (text := text.lstrip()):
            self._state = "answer"
        pieces.append(("token", text))
        return [(kind, part) for kind, part in pieces if part]

    def end(self) -> list[Piece]:
        """Return what has waited for more."""
        pieces: list[Piece] = [("token", "".join(self._blanks) + self._begun)]
        if self._state == "thoughts":
            pieces = [("reasoning", self._thoughts.end())]
        self._state, self._blanks, self._begun = "answer", [], ""
        return [(kind, part) for kind, part in pieces if part]

    def _after_opening(self, text: str) -> str:
        """Return what follows the opening tag, or the whole text if it begins otherwise; "" as long as both may be."""
        text = self._begun + text
        begun = text.lstrip()
        self._blanks.append(text[: len(text) - len(begun)])
        self._begun = ""
        if begun.startswith(_OPENING):
            self._state, self._blanks = "thoughts", []
            return begun.removeprefix(_OPENING)
        if _OPENING.startswith(begun):
            self._begun = begun
            return ""
        before, self._blanks = "".join(self._blanks), []
        self._state = "answer"
        return before + begun


class _Thoughts:
    """Finds the closing tag."""

    def __init__(self) -> None:
        self._begun = ""
        # The lengths of the open fence, of the open backquotes, and of the backquotes that were just read.
        self._fence = self._quotes = self._run = 0
        self._tags_in_fence = 0
        self._begins_line = True

    def read(self, text: str) -> tuple[str, str | None]:
        """Return thoughts, and what follows the closing tag once it was read."""
        text = self._begun + text
        whole = len(text) - _length_of_begun(text)
        at = 0
        for mark in _MARKS.finditer(text, 0, whole):
            self._read_words(text[at : mark.start()])
            at = mark.end()
            self._read_mark(mark[0])
            if mark[0] == _CLOSING and not self._is_in_fence():
                if not self._quotes or text[at : at + 1] not in ("", "`"):
                    return text[: mark.start()], text[at:]
                if at == len(text):  # the next character shows whether the tag is in backquotes
                    self._begun = _CLOSING
                    return text[: mark.start()], None
        self._read_words(text[at:whole])
        self._begun = text[whole:]
        return text[:whole], None

    def end(self) -> str:
        """Return thoughts that have waited."""
        return "" if self._begun == _CLOSING else self._begun

    def _read_words(self, text: str) -> None:
        if text:
            self._end_run()
            self._begins_line = self._begins_line and text.isspace()

    def _read_mark(self, mark: str) -> None:
        if mark[0] == "`":
            self._run += len(mark)
            return
        self._end_run()
        if mark == "\n":
            self._quotes, self._begins_line = 0, True
        if mark == _OPENING:
            self._tags_in_fence += bool(self._fence)

    def _is_in_fence(self) -> bool:
        """Return whether a closing tag closes one that was opened in the same fence."""
        is_in_fence = self._tags_in_fence > 0
        self._tags_in_fence -= is_in_fence
        return is_in_fence

    def _end_run(self) -> None:
        """Open or close a fence or backquotes once all of their characters were read."""
        length, self._run = self._run, 0
        if not length:
            return
        if self._begins_line and length >= max(_FENCE, self._fence) and not self._quotes:
            self._fence = 0 if self._fence else length
            self._tags_in_fence = 0
        elif not self._fence and not self._quotes:
            self._quotes = length
        elif self._quotes == length:
            self._quotes = 0
        self._begins_line = False


def _length_of_begun(text: str) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    _, bracket, begun = text[-len(_OPENING) :].rpartition("<")
    begun = bracket + begun
    return len(begun) if any(begun != tag and tag.startswith(begun) for tag in (_OPENING, _CLOSING)) else 0
