"""Reads the records of a tool's file, in the form that the tool writes: JSON, YAML or CSV."""

from __future__ import annotations

import io
from collections.abc import Iterator

from reprise_formats.importers import promptfoo, promptfoo_csv
from reprise_formats.importers.records import ImportedRecord, read
from reprise_formats.importers.text_limits import MIB, WIDEST, TextLimits
from reprise_formats.text_files import decoded


class UnreadableFile(ValueError):
    """A file of which no record can be read; its text is the reason."""


def records_of(tool: str, file: io.BufferedReader, name: str, limits: TextLimits = WIDEST) -> Iterator[ImportedRecord]:
    """Return the records of a file that `tool` wrote; `name` is the file's. Raises `UnreadableFile`.

    The limits are those of YAML and CSV.
    """
    if tool != "promptfoo":
        return read(file)
    if name.lower().endswith(".csv"):
        return promptfoo_csv.records(_text(file, name, limits.csv_bytes), name)
    return promptfoo.records(_text(file, name, limits.yaml_bytes), name, limits)


def _text(file: io.BufferedReader, name: str, most: int) -> str:
    content = file.read(most + 1)
    if len(content) > most:
        raise UnreadableFile(f"{name} is larger than {most / MIB:g} MiB.")
    try:
        return decoded(content).text
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name}: {error}") from error
