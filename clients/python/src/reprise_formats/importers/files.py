"""Reads the records of a tool's file, in the form that the tool writes: JSON, YAML or CSV."""

from __future__ import annotations

import io
from collections.abc import Iterator

from reprise_formats.importers import promptfoo, promptfoo_csv
from reprise_formats.importers.records import ImportedRecord, read
from reprise_formats.text_files import decoded

TEXT_BYTES = 16 * 1024 * 1024
"""The largest file in YAML or CSV."""


class UnreadableFile(ValueError):
    """A file of which no record can be read; its text is the reason."""


def records_of(tool: str, file: io.BufferedReader, name: str) -> Iterator[ImportedRecord]:
    """Return the records of a file that `tool` wrote; `name` is the file's. Raises `UnreadableFile`."""
    if tool != "promptfoo":
        return read(file)
    records = promptfoo_csv.records if name.lower().endswith(".csv") else promptfoo.records
    return records(_text(file, name), name)


def _text(file: io.BufferedReader, name: str) -> str:
    content = file.read(TEXT_BYTES + 1)
    if len(content) > TEXT_BYTES:
        raise UnreadableFile(f"{name} is larger than {TEXT_BYTES // 1024 // 1024} MiB.")
    try:
        return decoded(content).text
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name}: {error}") from error
