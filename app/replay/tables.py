"""The words of `tables.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def words(section: str, name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(TABLES[section][name].split())
