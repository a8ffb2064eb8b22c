"""Answers as lines of CSV (RFC 4180) for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# The last four are the wide forms, which spreadsheets read like the others where people write Chinese or Japanese.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_lines(records: Iterable[dict[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """Yield the header, then a line for each record. The column of a nested field is named by its path."""
    out = io.StringIO()
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    for record in records:
        yield _drained(out)
        writer.writerow({name: _harmless(value) for name, value in flat(record).items()})
    yield _drained(out)


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with nested objects flattened. The names in a list are joined by semicolons."""
    columns: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            columns |= {f"{name}.{part}": inner for part, inner in value.items()}
        else:
            columns[name] = "; ".join(value) if isinstance(value, list | tuple) else value
    return columns


def _drained(out: io.StringIO) -> str:
    line = out.getvalue()
    out.seek(0)
    out.truncate()
    return line


def _harmless(value: Any) -> Any:
    """Quote texts that spreadsheets would run as formulas: strangers choose the names of models and users' messages."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
