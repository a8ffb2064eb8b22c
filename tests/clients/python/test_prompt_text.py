"""The text of a prompt's file without its front matter."""

from __future__ import annotations

from pathlib import Path

import pytest
from reprise_client import prompt_text
from reprise_client.prompt_files.file import PromptFile, format_file


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("---\nprompt: 2\n---\nBe kind.\n", "Be kind.\n"),
        ("\ufeff--- \r\nprompt: 2\r\n---\r\nBe\r\nkind.", "Be\nkind."),
        ("---\nprompt: 2\n---", ""),
        ("---\nprompt: 2\n---\nA\n---\nB", "A\n---\nB"),
        ("Be kind.", "Be kind."),
        ("---\nno end", "---\nno end"),
        (format_file(PromptFile(model="m", instruction_format="RAW", text="Be\nkind.")), "Be\nkind."),
    ],
)
def test_the_front_matter_is_left_out(content: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "prompt.md"
    path.write_bytes(content.encode())

    assert prompt_text(path) == text


def test_a_file_that_is_no_text_raises(tmp_path: Path) -> None:
    path = tmp_path / "prompt.md"
    path.write_bytes(b"\xff\xfe\xff")

    with pytest.raises(ValueError, match="decode"):
        prompt_text(path)
