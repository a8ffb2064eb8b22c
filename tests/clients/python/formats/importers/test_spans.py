"""JSON that is within a text."""

from __future__ import annotations

import pytest
from reprise_formats.importers import spans
from reprise_formats.importers.spans import in_json


def test_a_text_with_very_many_members_stays_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MEMBERS_MAX", 100)
    few, many = ("[" + "{}," * number + "{}]" for number in (40, 60))

    assert in_json(few) == 41 * [{}]
    assert in_json(many) is many
