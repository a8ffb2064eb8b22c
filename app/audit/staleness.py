"""Whether an audit still describes the gate: the judge, its rubric and most of the test cases are the same."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

CHANGED_MAX = 0.1
"""The share of test cases that may change before an audit is stale."""


class AuditBasis(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an audit was made of.

    `judge` is the name of the judge model, "" without one; `reported_model` is the model as its vendor reports it, ""
    before the vendor has answered. `cases` has a hash of each test case by its id.
    """

    judge: str
    rubric: str
    cases: dict[str, str]
    reported_model: str = msgspec.field(default="", name="snapshot")


def stale_reason(audited: AuditBasis, present: AuditBasis) -> str | None:
    """Return why an audit is stale; None while it holds. A reported model that is not known yet is no reason."""
    if audited.judge != present.judge:
        return f"the judge was {audited.judge or 'no model'} and is {present.judge or 'no model'} now"
    if audited.rubric != present.rubric:
        return "the rubric of the judge has changed"
    if audited.reported_model and present.reported_model not in ("", audited.reported_model):
        return f"the vendor reported {audited.reported_model} and reports {present.reported_model} now"
    changed = changed_cases(audited.cases, present.cases)
    if changed and changed >= CHANGED_MAX * len(audited.cases.keys() | present.cases.keys()):
        return f"{changed} of {len(audited.cases.keys() | present.cases.keys())} test cases have changed"
    return None


def changed_cases(before: Mapping[str, str], now: Mapping[str, str]) -> int:
    """Return how many test cases were changed, added or removed."""
    return sum(before.get(name) != now.get(name) for name in before.keys() | now.keys())
