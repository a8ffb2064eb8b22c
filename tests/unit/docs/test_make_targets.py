"""Every make target that the documents name is there, and `make help` lists it."""

import re
import subprocess

import pytest

from tests.support.deployment import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
# As code within a sentence, or as a line of a block.
COMMAND = re.compile(r"(?:`|^)make ([a-z][a-z-]*)", re.M)
NAMED = {(page.relative_to(ROOT).as_posix(), name) for page in PAGES for name in COMMAND.findall(page.read_text())}


@pytest.fixture(scope="module")
def listed() -> set[str]:
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +make ([a-z-]+) ", said, re.M))


@pytest.mark.parametrize(("page", "target"), sorted(NAMED))
def test_a_target_that_a_page_names_exists(page: str, target: str, listed: set[str]) -> None:
    assert target in listed
