"""The fingerprint of a test case: what a session like it would have."""

from __future__ import annotations

from app.replay.types import TestCase
from app.sessions.facts import cut_name
from app.suites.fingerprints import CalledTool, Fingerprint, make
from app.suites.refusals import is_refusal


def of_case(case: TestCase) -> Fingerprint:
    """Return the fingerprint of the turns that a replay plays."""
    calls, answers = [], []
    for number, turn in enumerate(case.played):
        for step in turn.steps:
            if step.kind == "answer":
                answers.append(step.text)
            elif step.name:
                batch = f"{number}:{step.batch}" if step.batch else ""
                calls.append(CalledTool(cut_name(step.name), batch, bool(step.error)))
    return make(
        turns=len(case.played),
        calls=calls,
        texts=[turn.user for turn in case.played if turn.user],
        has_error=any(call.failed for call in calls),
        has_refusal=any(map(is_refusal, answers)),
        versions=[turn.prompt_version for turn in case.played if turn.prompt_version],
    )
