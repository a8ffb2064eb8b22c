"""docs/design.md names every token of the style sheet, and no other."""

from __future__ import annotations

import re

from app.web.views.design import tokens
from tests.support.deployment import ROOT


def test_the_document_names_every_token() -> None:
    sizes = {name for name in tokens() if name.startswith("size-")}
    table = (ROOT / "docs/design.md").read_text().partition("## Tokens")[2].partition("## Components")[0]
    named = set(re.findall(r"`--([\w-]+)`", table))

    assert named - sizes == tokens().keys() - sizes
    assert named & sizes == {min(sizes), max(sizes)}
