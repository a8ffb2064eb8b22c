"""Docstrings and comments cite only pages that are in the repository."""

from __future__ import annotations

import re

import pytest

from tests.support.deployment import ROOT

PAGE = re.compile(r"[\w./-]+\.md\b")
SOURCES = sorted(path for folder in ("app", "config", "migrations") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_page_that_is_cited_is_here(source: object) -> None:
    assert [page for page in PAGE.findall(source.read_text()) if not (ROOT / page).is_file()] == []  # type: ignore[attr-defined]
