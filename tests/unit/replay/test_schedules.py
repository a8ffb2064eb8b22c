"""Rules of calendars are equal if they have the same parts, in any order (RFC 5545, 3.3.10)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.schedules import same_rule
from tests.unit.replay.test_call_forms import compared

PARTS = {
    "COUNT": ["2", "10"],
    "INTERVAL": ["2", "3"],
    "BYDAY": ["MO", "MO,WE", "-1FR", "2TU,-4SU"],
    "BYMONTH": ["1", "1,12"],
    "UNTIL": ["20261231T235959Z", "20271231T235959Z"],
    "WKST": ["SU"],
}
rules = st.dictionaries(st.sampled_from(sorted(PARTS)), st.integers(0, 3), max_size=4).map(
    lambda drawn: {"FREQ": "WEEKLY", **{name: PARTS[name][at % len(PARTS[name])] for name, at in drawn.items()}}
)


def written(rule: dict[str, str], drawn: random.Random) -> str:
    """Return a rule with its parts, their values and the defaults in any order."""
    parts = [*rule.items(), *(pair for pair in (("INTERVAL", "1"), ("WKST", "MO")) if pair[0] not in rule)]
    drawn.shuffle(parts)
    shuffled = (",".join(drawn.sample(values.split(","), len(values.split(",")))) for _, values in parts)
    return ";".join(f"{name}={values}" for (name, _), values in zip(parts, shuffled, strict=True))


@given(rules, rules, st.integers(0, 99))
def test_rules_are_the_same_if_their_parts_are(one: dict[str, str], other: dict[str, str], seed: int) -> None:
    drawn = random.Random(seed)

    assert same_rule(written(one, drawn), written(one, drawn))
    assert same_rule(written(one, drawn), written(other, drawn)) == (one == other)


@pytest.mark.parametrize(
    "text",
    [
        "RRULE:FREQ=WEEKLY;BYDAY=MO",  # an API may demand one of both
        "freq=weekly;byday=mo",
        "FREQ=WEEKLY;BYDAY=TU",
        "FREQ=WEEKLY;BYDAY=MO;BYDAY=TU",
        "FREQ=WEEKLY",
        "FREQ=DAILY;BYDAY=MO",
        "EXRULE:FREQ=WEEKLY;BYDAY=MO",
        "FREQ=WEEKLY;BYDAY=MO;COUNT=1",
    ],
)
def test_no_other_rule_passes_without_a_reader(text: str) -> None:
    assert not same_rule("FREQ=WEEKLY;BYDAY=MO", text)


def test_a_rule_in_another_order_is_equal_in_a_write() -> None:
    recorded = {"recurrence": ["RRULE:FREQ=WEEKLY;BYDAY=TH,MO;COUNT=4"]}

    assert compared(recorded, {"recurrence": ["RRULE:COUNT=4;INTERVAL=1;FREQ=WEEKLY;BYDAY=MO,TH"]}) == "equal"
    assert compared(recorded, {"recurrence": ["RRULE:COUNT=5;FREQ=WEEKLY;BYDAY=MO,TH"]}) == "failed"


@pytest.mark.parametrize("start", ["2026-12-03T16:00:00", {"dateTime": "2026-12-03T16:00:00Z"}, {"date": "2026-12-03"}])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [("FREQ=WEEKLY;COUNT=4", "open"), ("FREQ=WEEKLY;COUNT=5", "failed"), ("FREQ=DAILY;COUNT=4", "failed")],
)
def test_a_weekly_rule_without_a_day_repeats_on_that_of_its_start(start: Any, rule: str, expected: str) -> None:
    recorded = {"start": start, "recurrence": ["FREQ=WEEKLY;BYDAY=TH;COUNT=4"]}
    friday = {"start": start, "recurrence": ["FREQ=WEEKLY;BYDAY=FR;COUNT=4"]}
    produced = {"start": start, "recurrence": [rule]}

    assert compared(recorded, produced) == compared(produced, recorded) == expected
    assert compared(friday, produced) == "failed"
    assert compared({"recurrence": recorded["recurrence"]}, {"recurrence": [rule]}) == "failed"
