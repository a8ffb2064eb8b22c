"""Values, sentences, and rows of tables are found in texts."""

from __future__ import annotations

import pytest

from app.audit.tokens import entries_of, same_value, sentences_of, values_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It costs $1,299.00, or 1.299,00 €.", [("1,299.00", "number"), ("1.299,00", "number")]),
        ("On 2026-11-05 at 09:30.", [("2026-11-05", "date"), ("09:30", "time")]),
        ("Order A-1042 (R-77)", [("A-1042", "identifier"), ("R-77", "identifier")]),
        ("Write to ada@example.com.", [("ada@example.com", "address")]),
        ("See https://example.com/r/7.", [("https://example.com/r/7", "url")]),
        ("It is 31°C, and 5kg or 20%", [("31", "number"), ("5", "number"), ("20", "number")]),
        ("1. First\n2) Second\n- 3 items", [("3", "number")]),
        ("No value at all.", []),
    ],
)  # fmt: skip
def test_values_are_found_without_the_marks_around_them(text: str, values: list[tuple[str, str]]) -> None:
    found = list(values_of(text))

    assert [(value.text, value.kind) for value in found] == values
    assert all(text[value.begin : value.end] == value.text for value in found)


@pytest.mark.parametrize(
    ("kind", "left", "right", "same"),
    [
        ("number", "1,299.00", "1299", True),
        ("number", "1.299,00", "1299.0", True),
        ("number", "1,299", "1.300", False),
        ("date", "2026-11-05", "05/11/2026", True),
        ("date", "2026-11-05", "2026-11-06", False),
        ("identifier", "A-1042", "a-1042", True),
        ("identifier", "A-1042", "B-1042", False),
    ],
)
def test_values_are_the_same_in_another_form(kind: str, left: str, right: str, same: bool) -> None:
    assert same_value(kind, left, right) is same


def test_a_sentence_ends_at_its_mark_or_its_line_and_not_at_an_abbreviation() -> None:
    text = "Dr. Weber is free at 9.30. Is that right?\nYes! 用意ができました。次へ. Am 20. Juni um 12:00."
    text += " No. Use WAW-12. Go"

    sentences = sentences_of(text)

    assert [part.text for part in sentences] == [
        "Dr. Weber is free at 9.30.", "Is that right?", "Yes!", "用意ができました。", "次へ.", "Am 20. Juni um 12:00.",
        "No.", "Use WAW-12.", "Go",
    ]  # fmt: skip
    assert all(text[part.begin : part.end] == part.text for part in sentences)


def test_rows_of_a_table_and_items_of_a_list_are_groups() -> None:
    text = "Rates:\n| hotel | rate |\n|---|---|\n| Grand | 240 |\n| Bristol | 195 |\n\nThen\n- one\n- two\n\n1. last"

    groups = entries_of(text)

    assert [[entry.text for entry in group] for group in groups] == [
        ["| hotel | rate |", "| Grand | 240 |", "| Bristol | 195 |"],
        ["one", "two"],
    ]
