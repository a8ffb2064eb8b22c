"""A file's records are read one by one, whatever its form, and what can't be read is named with its place."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from reprise_formats.importers import records
from reprise_formats.importers.records import ImportedRecord, read

from tests.support.operations import steps_of


def reader(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(content))  # type: ignore[arg-type]  # it reads bytes like a file


def records_of(content: str | bytes) -> list[ImportedRecord]:
    return list(read(reader(content if isinstance(content, bytes) else content.encode())))


def values(content: str | bytes) -> list[Any]:
    found = records_of(content)
    assert [record.problem for record in found if record.problem] == []
    return [record.value for record in found]


ROWS = [{"a": 1}, {"b": "😀\u0000"}, {"c": [[], {}]}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        "\n\n" + LINES.replace("\n", "\r\n\r\n"),
        LINES.rstrip(),
        "\ufeff" + LINES,
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        " \n" + json.dumps({"data": ROWS, "next_cursor": None}, indent=2),
        json.dumps({"runs": ROWS}),
        json.dumps({"spans": ROWS[:1]}) + "\n" + json.dumps({"spans": ROWS[1:]}),
        json.dumps([{"data": ROWS[:2]}, {"data": ROWS[2:]}]),
        LINES.encode("utf-16"),
        ("\ufeff" + LINES).encode("utf-16-be"),
        LINES.encode("utf-32"),
        json.dumps(ROWS, indent=2, ensure_ascii=False).replace("\n", "\r\n").encode("utf-16"),
        gzip.compress(LINES.encode("utf-16"), mtime=0),
        gzip.compress(LINES.encode(), mtime=0),
        gzip.compress(json.dumps(ROWS).encode(), mtime=0),
    ],
)
def test_every_form_gives_the_same_records(content: str | bytes) -> None:
    assert values(content) == ROWS


@pytest.mark.parametrize("content", ["", "\n \n", "[]", " [ ] ", '{"data": []}'])
def test_an_empty_file_has_none(content: str) -> None:
    assert values(content) == []


def test_a_bad_line_is_named_and_passed_over() -> None:
    found = records_of('{"a": 1}\n[1]\n{"b":\n\n"x"\n{"c": 3}\n')

    assert [(record.place, record.value, record.problem) for record in found] == [
        ("line 1", {"a": 1}, ""),
        ("line 2", {}, "is no JSON object"),
        ("line 3", {}, "is no JSON: Expecting value (character 7)"),
        ("line 5", {}, "is no JSON object"),
        ("line 6", {"c": 3}, ""),
    ]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_the_place_of_a_line_counts_the_blank_ones(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(records, "_CHUNK", size)
    content = '\n \r\n\n{"a": 1}\n\n\t\n7\n\n{"b": 2}\n\n\n8'

    assert [(record.place, record.problem) for record in records_of(content)] == [
        ("line 4", ""),
        ("line 7", "is no JSON object"),
        ("line 9", ""),
        ("line 12", "is no JSON object"),
    ]


@pytest.mark.parametrize("content", ["{0}", '{0}{{"a": 1}}', '{{"a": 1}}{0}{{"b": 2}}', '{{"a":{0}1}}', '{{"a":{0}'])
def test_blank_lines_need_no_step_each(content: str) -> None:
    files = [content.format("\n" * lines).encode() for lines in (100, 50_000)]
    few, many = (steps_of(lambda file=file: records_of(file)) for file in files)

    assert many < few + 5_000


def test_a_first_line_that_is_cut_off_does_not_hide_the_others() -> None:
    found = records_of('{"a": "cut\n{"b": 1}\n')

    assert [record.place for record in found if record.problem] == ["line 1"]
    assert [record.value for record in found if not record.problem] == [{"b": 1}]


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000 + "\n"])
def test_deep_nesting_is_a_problem_of_its_record(content: str) -> None:
    found = records_of('{"a": 1}\n' + content + "\n")

    assert found[0].value == {"a": 1}
    assert found[1].problem


@pytest.mark.parametrize("content", [b'{"a": "\xff"}\n{"b": 1}', b'{"a": ' + b"9" * 10_000 + b'}\n{"b": 1}'])
def test_what_python_can_not_read_is_a_problem_of_its_line(content: bytes) -> None:
    bad, good = records_of(content)

    assert bad.problem.startswith("is no JSON: ")
    assert good.value == {"b": 1}


def test_an_item_of_a_code_page_is_named_and_not_guessed() -> None:
    content = b'[{"a": "\xe9"}, {"b": "\\udce9"}, {"c": "\xc3\xa9"}]'

    assert [(record.place, record.value, record.problem) for record in records_of(content)] == [
        ("item 1", {}, "is not UTF-8"),
        ("item 2", {"b": "\udce9"}, ""),
        ("item 3", {"c": "é"}, ""),
    ]


def test_half_a_character_of_utf_16_is_a_problem_of_the_file() -> None:
    *good, bad = records_of(LINES.encode("utf-16") + b"x")

    assert [record.value for record in good] == ROWS
    assert (bad.place, bad.problem) == ("the file", "is not utf-16-le: truncated data")


def test_numbers_that_json_does_not_have_are_null() -> None:
    assert values('{"a": NaN, "b": -Infinity}') == [{"a": None, "b": None}]


@pytest.mark.parametrize("content", ['[{"a": 1}, {"b": }]', '[{"a": 1}, {"b": 1'])
def test_a_list_ends_at_an_item_that_is_no_json(content: str) -> None:
    good, bad = records_of(content)

    assert good.value == {"a": 1}
    assert (bad.place, bad.problem[:12]) == ("item 2", "is no JSON: ")


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_a_list_is_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(records, "_CHUNK", size)

    assert values(" \n" + json.dumps(ROWS, indent=1)) == ROWS


def test_what_is_too_large_is_named_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LARGEST", 100)
    monkeypatch.setattr(records, "_CHUNK", 10)
    large = json.dumps({"a": "x" * 1000})

    assert [record.place for record in records_of(f'{large}\n{{"b": 1}}\n{large}') if record.problem] == [
        "line 1",
        "line 3",
    ]
    assert records_of(f"[{large}]")[0].problem.startswith("is larger than")


def test_an_archive_that_is_cut_off_is_a_problem_of_the_file() -> None:
    *good, bad = records_of(gzip.compress(LINES.encode() * 100)[:-20])

    assert bad.place == "the file"
    assert all(not record.problem for record in good)
