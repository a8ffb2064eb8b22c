"""Answers as lines of CSV (RFC 4180), which spreadsheets read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def csv_lines(records: Iterable[dict[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """Yield the header, and a line for each record; a nested field has its path as the column's name."""
    out = io.StringIO()
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    for record in records:
        yield _taken(out)
        writer.writerow({name: _harmless(value) for name, value in flat(record).items()})
    yield _taken(out)


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record without nested objects; the names of lists are joined by semicolons."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= {f"{name}.{part}": each for part, each in value.items()}
        else:
            found[name] = "; ".join(value) if isinstance(value, list | tuple) else value
    return found


def _taken(out: io.StringIO) -> str:
    line = out.getvalue()
    out.seek(0)
    out.truncate()
    return line


def _harmless(value: Any) -> Any:
    """Quote texts that spreadsheets would take for formulas: others choose the names of models and what was said."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
