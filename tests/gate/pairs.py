"""Pairs of texts that were judged by hand: files of scenes, each with lines of fields between `|`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.replay.texts.sources import Sources

HERE = Path(__file__).parent
_ESCAPES = {r"\n": "\n", r"\u202f": "\u202f", r"\u00a0": "\u00a0"}


def lines_of(file: str) -> Iterator[tuple[Sources, list[str]]]:
    """Yield the fields of each line with what its scene's texts can draw on."""
    scene: dict[str, Any] = {}
    for line in (HERE / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("=="):
            scene = {}
        elif line.startswith(("user:", "instruction:", "arguments:", "results:")):
            name, _, text = line.partition(": ")
            scene[name] = [json.loads(text)] if name in ("arguments", "results") else text
        elif line and not line.startswith("#"):
            yield Sources(**scene), [_unescaped(part.strip()) for part in line.split("|")]


def _unescaped(text: str) -> str:
    for escape, char in _ESCAPES.items():
        text = text.replace(escape, char)
    return text
