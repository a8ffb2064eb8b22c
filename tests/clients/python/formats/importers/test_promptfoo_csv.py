"""Tests of promptfoo in CSV become the test cases that they are in YAML."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.importers import promptfoo, promptfoo_csv
from reprise_formats.importers.promptfoo_csv import COLUMNS_MAX
from reprise_formats.importers.spans import Unreadable

FILE = """question,tone,__expected,__expected2,__description
Where is 17?,formal,contains: Oslo,,Order
"Ask ""hi"",
please",,hi,,
"""


def test_a_row_is_the_same_test_case_as_in_yaml() -> None:
    document = """
- description: Order
  vars: {question: "Where is 17?", tone: formal}
  assert: [{type: contains, value: Oslo}]
- description: ""
  vars: {question: "Ask \\"hi\\",\\nplease", tone: ""}
  assert: [{type: equals, value: hi}]
"""
    in_csv = [promptfoo.convert(record.value) for record in promptfoo_csv.records(FILE, "tests.csv")]
    in_yaml = [promptfoo.convert(record.value) for record in promptfoo.records(document, "tests.yaml")]

    assert in_csv == in_yaml
    assert [case.question for case in in_csv] == ["Where is 17?", 'Ask "hi",\nplease']


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("It has shipped.", {"type": "equals", "value": "It has shipped."}),
        ("Note: it has shipped", {"type": "equals", "value": "Note: it has shipped"}),
        ("equals: it: has shipped", {"type": "equals", "value": "it: has shipped"}),
        ("not-contains:sorry", {"type": "not-contains", "value": "sorry"}),
        ("icontains-any: a, b", {"type": "icontains-any", "value": ["a", "b"]}),
        ("similar(0.8): it ships", {"type": "similar", "value": "it ships"}),
        ("grade: is\nkind", {"type": "llm-rubric", "value": "is\nkind"}),
        ("is-json", {"type": "is-json", "value": ""}),
        ("fn:output.length < 9", {"type": "javascript", "value": "output.length < 9"}),
        ("file://check.py", {"type": "file", "value": "//check.py"}),
        ("latency(500)", {"type": "latency", "value": ""}),
        ("regex: ^a(b|c)$", {"type": "regex", "value": "^a(b|c)$"}),
    ],
)
def test_a_cell_is_an_assertion_of_its_type(cell: str, expected: dict[str, Any]) -> None:
    assert promptfoo_csv.assertion(cell) == expected


def test_what_changes_the_question_or_is_code_is_reported() -> None:
    [record] = promptfoo_csv.records(
        "q,__prefix,__metric,__expected1,__expected2\nHi,Hello.,m,python: f(),is-json\n", "f"
    )
    assert promptfoo.convert(record.value).left_out == ["assertion python", "column __prefix"]

    [code] = promptfoo_csv.records("q,__expected\nHi,python: f()\n", "f")
    with pytest.raises(Unreadable, match="no assertion"):
        promptfoo.convert(code.value)


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("", ["has no tests"]),
        ('q,__expected\n"Hi,x\n', ["is no CSV: unexpected end of data"]),
        ("q\nHi,x\n", ["has more cells than there are columns"]),
        ("q,__expected\n\nHi,x\n,\n", [""]),
    ],
)
def test_a_damaged_file_is_reported_with_its_place(content: str, problems: list[str]) -> None:
    assert [record.problem for record in promptfoo_csv.records(content, "tests.csv")] == problems


def test_a_file_with_very_many_columns_is_refused() -> None:
    [record] = promptfoo_csv.records(";" * COLUMNS_MAX + "\nx" + ";" * COLUMNS_MAX, "tests.csv")

    assert record.problem == "has more than 1,000 columns"


def test_rows_are_read_when_they_are_asked_for() -> None:
    damaged_later = promptfoo_csv.records('question,__expected\nHi,Ho\n"', "tests.csv")

    assert next(damaged_later).value["vars"] == {"question": "Hi"}
    assert "is no CSV" in next(damaged_later).problem


@pytest.mark.parametrize("delimiter", ",;\t")
def test_other_delimiters_and_long_cells_are_read(delimiter: str) -> None:
    rows = [["question", "__expected"], ["x" * 2_000_000, "contains: a, b; c"]]
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(rows)

    [record] = promptfoo_csv.records(file.getvalue(), "tests.csv")

    assert record.value["vars"] == {"question": rows[1][0]}
    assert record.value["assert"] == [{"type": "contains", "value": "a, b; c"}]


@given(st.text())
def test_any_text_is_read_or_reported(text: str) -> None:
    for record in promptfoo_csv.records(text, "tests.csv"):
        assert record.problem or isinstance(record.value["vars"], dict)
