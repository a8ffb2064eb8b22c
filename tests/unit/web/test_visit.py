"""Numbers of the query, and the form that is shown again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.errors import Invalid
from app.web.forms import Form
from app.web.visit import Visit


def visit(**query: str) -> Visit:
    return Visit("token", query=query)


@pytest.mark.parametrize(("text", "number"), [("1", 1), (str(2**63 - 1), 2**63 - 1)])
def test_an_identifier_is_a_positive_number(text: str, number: int) -> None:
    assert visit(run=text).identifier("run") == number
    assert visit().identifier("run") is None


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1.0", "²", str(2**63), "9" * 5000])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="must be an integer"):
        visit(run=text).identifier("run")


def test_a_form_is_shown_again_only_when_it_was_refused() -> None:
    sent = replace(visit(), form=Form({"name": ["N"]}))

    assert sent.sent.text("name", "stored") == "stored"
    assert replace(sent, problem=Invalid("name: No.")).sent.text("name", "stored") == "N"
