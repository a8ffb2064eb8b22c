"""The references of a schema are resolved in time that grows with their length, whatever they hold."""

from __future__ import annotations

import unicodedata

import pytest

from app.json_schema.check import breach_of
from app.json_schema.references import Unresolvable
from app.values.budget import WorkBudget

MARKS = "\u0344\u0327" * 1_000


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": f"http://a{MARKS}#/x"},
        {"$id": f"http://a{MARKS}#", "$ref": "x"},
        {"$id": "http://b/", "$ref": f"//a\ud800{MARKS}"},
    ],
)
def test_no_address_in_a_schema_is_normalized(monkeypatch: pytest.MonkeyPatch, schema: dict[str, str]) -> None:
    lengths, normalize = list[int](), unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", lambda form, text: lengths.append(len(text)) or normalize(form, text))

    with pytest.raises(Unresolvable):
        breach_of(schema, {}, WorkBudget())

    assert not [length for length in lengths if length > len(MARKS)]


@pytest.mark.parametrize("schema", [{"$ref": "http://[a#/x"}, {"$id": "http://[a#b", "$ref": "#/x"}])
def test_a_reference_that_is_no_address_leads_to_nothing(schema: dict[str, str]) -> None:
    with pytest.raises(Unresolvable):
        breach_of(schema, {}, WorkBudget())


def test_a_reference_beyond_ascii_leads_to_its_schema() -> None:
    schema = {"$id": "http://ä.example/", "$defs": {"größe": {"type": "string"}}, "$ref": "#/$defs/größe"}

    assert breach_of(schema, "text", WorkBudget()) is None
    assert breach_of(schema, 1, WorkBudget())
