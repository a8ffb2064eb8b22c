"""Writes src/markdown/tables.ts: what Python has in its library, and what both clients must have alike."""

from __future__ import annotations

import sys
from html.entities import html5
from pathlib import Path
from textwrap import wrap

from reprise_formats import xml_names as names

TABLES = Path(__file__).parent / "src" / "markdown" / "tables.ts"
WIDTH = 116


def tables() -> str:
    """The source of the module."""
    entities = {name[:-1]: text for name, text in html5.items() if name.endswith(";")}
    significant = {name: text for name, text in entities.items() if _is_significant(text)}
    parts = [
        "/** Tables that clients/js/tables.py writes. */\n",
        "// The characters that an element's name can have, and which of them it can't begin with.",
        _constant("LETTERS", names.LETTERS.split()),
        _constant("DIGITS_AND_EXTENDERS", names.DIGITS_AND_EXTENDERS.split()),
        "\n// HTML's entities: those of characters that a name keeps or a link's address is judged by, and the rest.",
        _constant("CHARACTERS", [f"{name}={_codes(text)}" for name, text in sorted(significant.items())]),
        _constant("SEPARATORS", sorted(set(entities) - set(significant))),
    ]
    return "\n".join(parts) + "\n"


def _is_significant(text: str) -> bool:
    kept = names.element_name(text) != names.element_name("")
    return kept or text.isspace() or text in {":", ";", "/"}


def _codes(text: str) -> str:
    return "+".join(f"{ord(char):X}" for char in text)


def _constant(name: str, words: list[str]) -> str:
    lines = wrap(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"export const {name} = `", *(f"  {line}" for line in lines), "`;"])


if __name__ == "__main__":
    sys.stdout.write(f"{TABLES.write_text(tables())} characters\n")
