"""The text of a file by its byte order mark, in UTF-8 without one, with the line ends of any platform."""

from __future__ import annotations

from dataclasses import dataclass

from reprise_formats.byte_order import MARK, encoding_of_mark


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file with its line ends and its byte order mark, and the encoding in which it was read."""

    content: str
    encoding: str = "utf-8"

    @property
    def text(self) -> str:
        """The text as its author sees it: without the mark, with `\\n` at the end of each line."""
        return with_line_feeds(self.content.removeprefix(MARK))


def encoding_of(start: bytes) -> str:
    """Return the encoding that the byte order mark at the start of a file names, UTF-8 without one."""
    return encoding_of_mark(start) or "utf-8"


def with_line_feeds(text: str) -> str:
    """Return the text with `\\n` for the line ends of Windows and of old Macs."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decoded(content: bytes) -> TextFile:
    """Return the text of a file's bytes. Raises `UnicodeDecodeError`."""
    encoding = encoding_of(content)
    return TextFile(content.decode(encoding), encoding)
