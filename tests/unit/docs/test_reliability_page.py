"""docs/reliability.md names a test for each promise, and each of these tests exists."""

from __future__ import annotations

import re

import pytest

from tests.support.deployment import ROOT

PAGE = (ROOT / "docs/reliability.md").read_text()
TEST = re.compile(r"`(tests/[\w/.]+)`")
SECTIONS = ("How it is kept", "Planted faults", "In the test suite")
"""The sections that are tables of promises, or of the faults that their tests find."""


def rows(section: str) -> list[str]:
    """Return the rows of the tables in a section, without their headings."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| .*\|$", text, re.M)[1:]


@pytest.mark.parametrize("path", sorted(set(TEST.findall(PAGE))))
def test_a_test_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("row", [row for section in SECTIONS for row in rows(section)])
def test_each_promise_names_its_test(row: str) -> None:
    assert TEST.search(row.rpartition("|")[0].rpartition("|")[2])
