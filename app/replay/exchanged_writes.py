"""Finds writes that the recorded model asked for in one message, and that a draft made in another order.

The recording does not show whether their order matters: "mail A" and "mail B" may be exchanged, "delete" and "restart"
may not. So a judge decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.replay.call_arguments import arguments_of
from app.replay.case_types import CaseStep, CheckedCall
from app.replay.comparison import Assertion
from app.replay.matching import Pairs
from app.replay.violations import Attempt, paired_as_they_came
from app.replay.wording import shown_json

_ASSERTION = (
    "The recorded assistant asked for {before} with {arguments} and then for this call of {name}, both in one message. "
    "The changed assistant made this call first. It passes if its arguments ask for the same as the recorded ones, and "
    "if the result for the user and the owner is the same in this order. It fails if {before} had to come first: "
    "because the user or the instruction asks for that order, or because one of the calls changes what the other does."
)
_REASON = (
    "{name} was called before {before}, and the recording has the two in one message in the other order; no model may "
    "judge whether that matters"
)


@dataclass(frozen=True, slots=True)
class _MadeWrite:
    """A recorded write, with the place of the draft's call."""

    at: int
    step: CheckedCall


def exchanged_writes(steps: Sequence[CaseStep], attempts: Sequence[Attempt], pairs: Pairs) -> dict[int, Assertion]:
    """Return assertions about recorded writes that the draft made before another one that their message has before.

    `pairs` has the turn's steps, by index, with the attempts that they were paired with. If the calls can be paired
    otherwise, as when one check accepts both, the pairs with fewer exchanges count.
    """
    exchanged = _exchanged(steps, attempts, pairs)
    if not exchanged:
        return {}
    as_they_came = paired_as_they_came(attempts)
    accepted = {index for index, at in pairs.items() if at < len(attempts) and attempts[at].accepted >> index & 1}
    if as_they_came.keys() >= accepted:
        exchanged = min(exchanged, _exchanged(steps, attempts, as_they_came), key=len)
    shown = {id(before): shown_json(arguments_of(before.arguments)) for before in exchanged.values()}
    return {index: _assertion(steps[index], before, shown[id(before)]) for index, before in exchanged.items()}


def _exchanged(
    steps: Sequence[CaseStep], attempts: Sequence[Attempt], pairs: Mapping[int, int]
) -> dict[int, CheckedCall]:
    """Return the steps that were made too early, each with the step of its message that was made last before them."""
    exchanged: dict[int, CheckedCall] = {}
    batch, latest = "", None
    for index, step in enumerate(steps):
        if step.kind != "tool_call" or not step.checked:
            continue
        if not step.batch or step.batch != batch:
            batch, latest = step.batch, None
        at = pairs.get(index, len(attempts))
        if at >= len(attempts) or not attempts[at].accepted >> index & 1 or attempts[at].tool.effect != "write":
            continue
        if latest is not None and at < latest.at:
            exchanged[index] = latest.step
        else:
            latest = _MadeWrite(at, step)
    return exchanged


def _assertion(step: CaseStep, before: CheckedCall, arguments: str) -> Assertion:
    assert step.kind == "tool_call"  # noqa: S101 - only calls are exchanged
    text = _ASSERTION.format(name=step.name, before=before.name, arguments=arguments)
    return Assertion(text, _REASON.format(name=step.name, before=before.name))
