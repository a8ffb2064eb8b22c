"""The text of a prompt in a file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from reprise_formats.text_files import decoded

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)


def prompt_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file without the front matter that `reprise prompts` writes above it.

    Line ends are `\\n`. Raises `OSError`, and `ValueError` for a file that is not text.
    """
    text = decoded(Path(path).read_bytes()).text
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return text[closing.end() :] if closing else text
