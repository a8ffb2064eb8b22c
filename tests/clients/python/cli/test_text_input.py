"""Text files of commands are read as their authors see them, or refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.text_input import read, read_json
from reprise_formats.text_files import decoded

LINES = "Grüße, 😀\nform\x0cfeed\x85\u2028\n\nno end"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.txt"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_one_text_is_read_from_files_of_all_platforms(file: Path, encoding: str, line_end: str, last: str) -> None:
    file.write_bytes((LINES + last).replace("\n", line_end).encode(encoding))

    assert read(file).text == LINES + last


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-32-be"])
def test_the_mark_names_the_order_of_bytes(file: Path, encoding: str) -> None:
    file.write_bytes(f"\ufeff{LINES}".encode(encoding))

    assert read(file).text == LINES


@given(st.binary())
def test_what_is_read_is_written_back_byte_for_byte(content: bytes) -> None:
    try:
        stored = decoded(content)
    except UnicodeDecodeError:
        return
    assert stored.content.encode(stored.encoding) == content


@pytest.mark.parametrize("code_page", ["cp1252", "cp932", "cp1251", "cp437"])
def test_a_code_page_is_refused_with_its_line_and_not_guessed(file: Path, code_page: str) -> None:
    words = {"cp932": "注文", "cp1251": "привет"}.get(code_page, "Grüße")
    file.write_bytes(f"one\r\ntwo\r\n{words}\r\n".encode(code_page))

    with pytest.raises(CouldNotRun, match=r"file.txt: line 3: The file is not UTF-8. A code page is not guessed"):
        read(file)


@pytest.mark.parametrize("content", [b"one\nt\0wo", "o\ntwo".encode("utf-16-le"), "\ufeffo\nt\0".encode("utf-16-be")])
def test_a_nul_is_refused_with_its_line(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with pytest.raises(CouldNotRun, match=r"file.txt: line [12]: There is a NUL character"):
        read(file)


def test_half_a_character_is_refused_by_the_name_of_its_encoding(file: Path) -> None:
    file.write_bytes("\ufeffab".encode("utf-16-le") + b"x")

    with pytest.raises(CouldNotRun, match=r"line 1: The file is not UTF-16\."):
        read(file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_is_read_in_every_encoding_with_its_texts_unchanged(file: Path, encoding: str) -> None:
    file.write_bytes('{\r\n"a": "\\r\\n\\u0000é"\r\n}'.encode(encoding))

    assert read_json(file) == {"a": "\r\n\0é"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "file.txt: Is not JSON: Expecting property name"),
        (b"[1]\x0c", "Is not JSON: Extra data"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5_000, "Exceeds the limit"),
        (b'"\xe9"', "line 1: The file is not UTF-8"),
    ],
)
def test_what_is_no_json_is_refused_in_words(file: Path, content: bytes, words: str) -> None:
    file.write_bytes(content)

    with pytest.raises(CouldNotRun, match=words):
        read_json(file)


def test_a_folder_and_a_file_that_is_not_there_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(CouldNotRun, match="Is a directory"):
        read_json(tmp_path)
    with pytest.raises(CouldNotRun, match="No such file"):
        read(tmp_path / "missing")
