"""The form of experiments asks the API for an experiment."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.web.forms import Form
from app.web.presenters.experiment import ShownExperiment
from app.web.presenters.experiment_form import DETECTS, detect_choices, fields_asked, fields_of
from tests.support.experiments import case, experiment, side

HASH = "4f53a0b1" * 8
PASSING = case(1, "steady", "stable_pass", side(4, 4), side(4, 4))


def test_the_form_asks_for_the_same_again() -> None:
    query = ShownExperiment(experiment([PASSING], maxCost=0.5, detect=0.33)).again
    fields = fields_asked({name: values[-1] for name, values in parse_qs(query).items()})

    body = fields.body()

    assert (body["candidate"], body["baseline"]["commitHash"][:8]) == ("draft", "4f53a0b1")
    assert (body["detect"], body["maxCost"]) == (0.33, 0.5)


def test_an_empty_form_asks_for_the_defaults() -> None:
    assert fields_of(Form({})).body() == {
        "candidate": "draft",
        "baseline": "latest",
        "detect": 0.25,
        "repeats": {},
        "reuse": True,
        "judge": "auto",
        "languageModelNames": [],
    }


def test_ticked_versions_are_compared_as_several_candidates() -> None:
    body = fields_of(Form({"candidate": ["draft"], "other": ["draft", HASH]})).body()

    assert body["candidates"] == [{"name": "the draft"}, {"name": f"version {HASH[:8]}", "commitHash": HASH}]
    assert "candidate" not in body


def test_every_field_of_the_form_reaches_the_api() -> None:
    values = {"candidate": HASH, "baseline": "none", "detect": "0.2", "maxCost": " 1.5 ", "min": "3", "max": "9"}
    values |= {"minPassRate": "90", "minJudgeCaught": "70", "maxSlowdown": "2", "fresh": "1", "judge": "never"}
    form = Form({**{name: [value] for name, value in values.items()}, "case": ["7", "8"], "model": ["a", "b"]})

    assert fields_of(form).more
    assert fields_of(form).body() == {
        "candidate": {"commitHash": HASH},
        "baseline": None,
        "testCaseIds": [7, 8],
        "detect": 0.2,
        "maxCost": 1.5,
        "minPassRate": 0.9,
        "minJudgeCaught": 0.7,
        "maxSlowdown": 2.0,
        "repeats": {"min": 3, "max": 9},
        "reuse": False,
        "judge": "never",
        "languageModelNames": ["a", "b"],
    }


def asked(form: Form) -> dict[str, Any] | str:
    """The body that the form asks the API with, or why it can't."""
    try:
        return fields_of(form).body()
    except Invalid as error:
        return str(error)


@pytest.mark.parametrize(("chosen", "offered"), [("0.5", 4), ("0.4", 5), ("2", 4), ("<b>", 4), ("0.4\n", 4)])
def test_another_share_of_failures_is_offered_where_it_is_asked_for(chosen: str, offered: int) -> None:
    assert len(detect_choices(chosen)) == offered


@given(st.text(), st.sampled_from(["detect", "maxCost", "min", "max", "minPassRate", "maxSlowdown", "case"]))
def test_any_text_in_a_field_of_numbers_is_a_number_or_invalid(text: str, name: str) -> None:
    found = asked(Form({name: [text]}))

    assert isinstance(found, dict) or "Must be a" in found


def test_what_must_not_slip_through_shows_how_many_replays_it_needs() -> None:
    assert DETECTS[1] == ("0.33", "A step that fails one time in three (6 replays of a test, at least)")
