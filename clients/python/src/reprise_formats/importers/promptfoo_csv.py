"""promptfoo: the tests of a CSV file, in the form that they have in a configuration."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reprise_formats.importers.records import ImportedRecord

# A cell may be as long as a file: the limit of Python's reader is 128 KiB.
CELL_MAX = 16 * 1024 * 1024
COLUMNS_MAX = 1_000
EXPECTED, DESCRIPTION = "__expected", "__description"
# Columns that change what the model is asked. Others with two underscores change scores, which a test case has not.
_CHANGES_QUESTION = ("__prefix", "__suffix", "__providerOutput")
_ALIASES = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript", "file": "file"}
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
# An unknown word before a colon is a part of the expected text.
_TYPES = (
    *("answer-relevance", "bleu", "classifier", "contains", "contains-html", "contains-json", "contains-sql"),
    *("contains-xml", "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "cost"),
    *("equals", "factuality", "finish-reason", "g-eval", "gleu", "guardrails", "icontains", "is-html", "is-json"),
    *("is-refusal", "is-sql", "is-valid-function-call", "is-valid-openai-function-call", "is-xml", "javascript"),
    *("is-valid-openai-tools-call", "latency", "levenshtein", "llm-rubric", "meteor", "model-graded-closedqa"),
    *("model-graded-factuality", "moderation", "perplexity", "perplexity-score", "pi", "python", "regex", "rouge-n"),
    *("ruby", "similar", "starts-with", "webhook", *_LISTS, *_ALIASES),
)
_ASSERTION = re.compile(rf"(not-)?({'|'.join(_TYPES)})(?:\(\d+(?:\.\d+)?\))?(?::(.*))?", re.DOTALL)


def records(text: str, place: str) -> Iterator[ImportedRecord]:
    """Yield the tests of a file, one for each row below the names of its columns."""
    rows = _rows(text)
    try:
        _, header = next(rows, (0, []))
        if len(header) > COLUMNS_MAX:
            yield ImportedRecord(place, {}, f"has more than {COLUMNS_MAX:,} columns")
        elif header:
            yield from _tests(rows, [name.strip() for name in header], place)
        else:
            yield ImportedRecord(place, {}, "has no tests")
    except csv.Error as error:
        yield ImportedRecord(place, {}, f"is no CSV: {error}")


def _tests(rows: Iterable[tuple[int, list[str]]], names: Sequence[str], place: str) -> Iterator[ImportedRecord]:
    for line, cells in rows:
        if len(cells) > len(names):
            yield ImportedRecord(f"{place}: line {line}", {}, "has more cells than there are columns")
        elif any(cells):
            yield ImportedRecord(f"{place}: line {line}", _test(list(zip(names, cells, strict=False))))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return the rows with cells, each with the line at which it ends. They raise `csv.Error` where the text is no CSV.

    Spreadsheets of some languages write semicolons or tabs for commas.
    """
    header = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), strict=True)
    # The limit is that of the process. Its threads may read several files.
    csv.field_size_limit(CELL_MAX)
    return ((reader.line_num, row) for row in reader if row)


def _test(cells: Sequence[tuple[str, str]]) -> dict[str, Any]:
    expected = [cell for name, cell in cells if name.startswith(EXPECTED) and cell.strip()]
    return {
        "description": next((cell for name, cell in cells if name == DESCRIPTION), ""),
        "vars": {name: cell for name, cell in cells if name and not name.startswith("__")},
        "assert": [assertion(cell) for cell in expected],
        "left_out": [f"column {name}" for name, cell in cells if name in _CHANGES_QUESTION and cell],
    }


def assertion(cell: str) -> Mapping[str, Any]:
    """Return the assertion that a cell such as `contains: Oslo` means; any other text has to be equal."""
    match = _ASSERTION.fullmatch(cell.strip())
    if match is None:
        return {"type": "equals", "value": cell}
    inverse, kind, value = match[1] or "", _ALIASES.get(match[2], match[2]), (match[3] or "").strip()
    if kind in _LISTS:
        return {"type": inverse + kind, "value": [part.strip() for part in value.split(",")]}
    return {"type": inverse + kind, "value": value}
