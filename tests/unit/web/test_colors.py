"""Dark changes only colors and shadows, so that a page which is whole in light is whole in dark."""

from __future__ import annotations

import re

import pytest

from tests.support.deployment import ROOT

STATIC = ROOT / "app/web/static"
DARK = re.compile(r"@media\s*\(prefers-color-scheme: dark\)\s*{\s*:root\s*{(?P<declared>[^{}]*)}\s*}")
PAINTED = re.compile(r"\s*--[\w-]+:\s*(#[0-9a-f]{6}|none|(\d+(px)?\s+)+rgb\([^()]*\))\s*")
SHEETS = sorted(path.name for path in STATIC.glob("*.css"))


@pytest.mark.parametrize("name", SHEETS)
def test_the_dark_scheme_sets_colors_and_nothing_else(name: str) -> None:
    sheet = (STATIC / name).read_text()
    blocks = [match["declared"] for match in DARK.finditer(sheet)]

    assert len(blocks) == sheet.count("prefers-color-scheme")
    for declaration in (one for block in blocks for one in block.split(";") if one.strip()):
        assert PAINTED.fullmatch(declaration), declaration


def test_a_style_sheet_has_a_dark_scheme_and_no_script_asks_for_it() -> None:
    assert any(DARK.search((STATIC / name).read_text()) for name in SHEETS)
    assert not any("prefers-color-scheme" in path.read_text() for path in STATIC.glob("*.js"))
