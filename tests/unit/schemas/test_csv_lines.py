"""Lines of CSV that spreadsheets open run nothing."""

from __future__ import annotations

import csv
import io

import pytest

from app.schemas.csv_lines import csv_lines


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_text_that_begins_as_a_formula_is_quoted(begin: str, nested: bool) -> None:
    text = f'{begin}HYPERLINK("https://elsewhere.example","1")'
    record = {"a": {"b": text}} if nested else {"a": [text, "x"]}
    name = "a.b" if nested else "a"

    _, row = csv.reader(io.StringIO("".join(csv_lines([record], [name])), newline=""))

    assert row[0].startswith(f"'{begin}")


def test_numbers_and_other_texts_stay() -> None:
    _, row = csv.reader(
        io.StringIO("".join(csv_lines([{"a": -1, "b": "a-1", "c": None}], ["a", "b", "c"])), newline="")
    )
    assert row == ["-1", "a-1", ""]
