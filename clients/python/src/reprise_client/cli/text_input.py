"""Reads the text files of commands as their authors see them, on every platform.

Nothing is guessed: a file in a code page of Windows, or in UTF-16 without a mark, is refused in words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reprise_formats.text_files import TextFile, decoded, with_line_feeds

from reprise_client.cli.failures import CouldNotRun

_SAVE = "A code page is not guessed: save the file as UTF-8."
_NUL = "There is a NUL character. If the file is UTF-16, save it with a byte order mark, or as UTF-8."


def read(file: Path) -> TextFile:
    """Read a file. Raises `CouldNotRun`, which names the line of a byte that is no text."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CouldNotRun(f"{file}: {error.strerror}.") from error
    try:
        stored = decoded(content)
    except UnicodeDecodeError as error:
        line = _line(content[: error.start].decode(error.encoding))
        raise CouldNotRun(f"{file}: line {line}: The file is not {_name(error.encoding)}. {_SAVE}") from error
    if "\0" in stored.content:
        raise CouldNotRun(f"{file}: line {_line(stored.content.partition(chr(0))[0])}: {_NUL}")
    return stored


def read_json(file: Path) -> Any:
    """Return the value of a JSON file. Raises `CouldNotRun`."""
    try:
        return json.loads(read(file).text)
    except RecursionError as error:
        raise CouldNotRun(f"{file}: The JSON is nested too deeply.") from error
    except ValueError as error:
        raise CouldNotRun(f"{file}: Is not JSON: {error}.") from error


def _name(encoding: str) -> str:
    return encoding.upper().removesuffix("-LE").removesuffix("-BE")


def _line(before: str) -> int:
    """Return the number of the line that follows a text."""
    return with_line_feeds(before).count("\n") + 1
