"""Docstrings and comments cite only pages that are in the repository."""

from __future__ import annotations

import re

from tests.support.deployment import ROOT

PAGE = re.compile(r"(?<![\w./-])[\w./-]+\.md\b")
SOURCES = sorted(path for folder in ("app", "config", "migrations") for path in (ROOT / folder).rglob("*.py"))


def test_every_page_that_is_cited_is_here() -> None:
    cited = [(str(source.relative_to(ROOT)), page) for source in SOURCES for page in PAGE.findall(source.read_text())]
    assert [one for one in cited if not (ROOT / one[1]).is_file()] == []
