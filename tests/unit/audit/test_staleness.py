"""An audit is stale once the judge, its rubric or a tenth of the test cases changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.audit.staleness import AuditBasis, changed_cases, stale_reason

BASIS = AuditBasis("gpt-5", "r1", {str(n): f"hash {n}" for n in range(20)}, "gpt-5-2026-01-01")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"judge": "opus"}, "the judge was gpt-5 and is opus now"),
        ({"judge": ""}, "the judge was gpt-5 and is no model now"),
        ({"rubric": "r2"}, "the rubric of the judge has changed"),
        (
            {"reported_model": "gpt-5-2026-09-01"},
            "the vendor reported gpt-5-2026-01-01 and reports gpt-5-2026-09-01 now",
        ),
        ({"reported_model": ""}, None),
        ({"cases": BASIS.cases | {"0": "other"}}, None),
        ({"cases": BASIS.cases | {"0": "other", "1": "other"}}, "2 of 20 test cases have changed"),
        ({"cases": BASIS.cases | {"20": "new", "21": "new", "22": "new"}}, "3 of 23 test cases have changed"),
        ({"cases": {}}, "20 of 20 test cases have changed"),
    ],
)
def test_what_makes_an_audit_stale(changes: dict[str, object], reason: str | None) -> None:
    assert stale_reason(BASIS, replace(BASIS, **changes)) == reason


def test_changed_added_and_removed_test_cases_count() -> None:
    assert changed_cases({"1": "a", "2": "b", "3": "c"}, {"1": "a", "2": "x", "4": "d"}) == 3
