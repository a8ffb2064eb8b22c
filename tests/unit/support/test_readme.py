"""The README of the tests' helpers names each module."""

import re

from tests.support.deployment import ROOT

FOLDER = ROOT / "tests" / "support"


def test_each_helper_is_in_the_readme() -> None:
    named = re.findall(r"`(\w+)`", (FOLDER / "README.md").read_text())

    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} <= set(named)
