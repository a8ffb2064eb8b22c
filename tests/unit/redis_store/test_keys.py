"""Every key in Redis is named in one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.redis_store import keys

APP = Path(app.__file__).parent
NAMED = re.compile(r"^(reprise|dramatiq|rate|batch|project|metrics):\S*$")


def texts(source: str) -> Iterator[str]:
    """Return the string literals of a module; of an f-string, the part before its first value."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield from (str(part.value) for part in node.values[:1] if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.slow
def test_no_other_module_names_a_key() -> None:
    naming = {path for path in APP.rglob("*.py") if any(map(NAMED.match, texts(path.read_text(encoding="utf-8"))))}

    assert naming == {Path(keys.__file__)}
