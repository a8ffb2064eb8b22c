"""A position in the indentation and the markers that a line begins with."""

from __future__ import annotations

TAB_STOP = 4


class Cursor:
    """Reads a line's blanks by columns: a tab reaches to the next tab stop, and a part of it can be read."""

    __slots__ = ("_columns_left", "_tab_end", "_text_end", "at", "line")

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self._text_end = len(line.rstrip(" \t"))
        self._tab_end = 0
        self._columns_left = 0

    def save(self) -> tuple[int, int, int]:
        return self.at, self._tab_end, self._columns_left

    def restore(self, saved: tuple[int, int, int]) -> None:
        self.at, self._tab_end, self._columns_left = saved

    def skip(self, columns: int) -> int:
        """Skip at most so many columns of blanks; returns how many were there."""
        missing = columns - self._take_from_tab(columns)
        while missing and self.at < len(self.line) and (blank := self.line[self.at]) in " \t":
            if blank == " ":
                self.at += 1
                missing -= 1
            else:
                self._columns_left = TAB_STOP - (self.at - self._tab_end) % TAB_STOP
                self.at += 1
                self._tab_end = self.at
                missing -= self._take_from_tab(missing)
        return columns - missing

    def _take_from_tab(self, columns: int) -> int:
        taken = min(columns, self._columns_left)
        self._columns_left -= taken
        return taken

    def skip_quote_mark(self) -> bool:
        """Skip `>` and a blank after it; returns whether it was there."""
        if self.line[self.at : self.at + 1] != ">":
            return False
        self.at += 1
        self.skip(1)
        return True

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.line)

    @property
    def rest(self) -> str:
        return self.line[self.at :]

    @property
    def at_blanks_alone(self) -> bool:
        """Return whether no more than blanks follow."""
        return self.at >= self._text_end
