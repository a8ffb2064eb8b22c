"""Finds extra calls of tools that only a model believes to read, which a person has to confirm.

A tool of unknown effect counts as a write, so that an extra call of it is a violation. If a model proposes that it
reads, the call is none, but the replay does not pass: it needs review until a person sets the effect of the tool.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from app.replay.call_arguments import arguments_of
from app.replay.call_effects import call_reads
from app.replay.case_types import CaseStep, DeclaredEffect
from app.replay.effects import Tool
from app.replay.matching import Pairs
from app.replay.result_types import StepVerdict
from app.replay.violations import Attempt
from app.replay.wording import shown_json

_REASON = (
    "{name} was called beyond the recording, with {arguments}{more}. A model proposes that {name} only reads, "
    "and no person has confirmed it: confirm its effect in the test case, or decide"
)


def may_read(tool: Tool, arguments: Any, proposed: DeclaredEffect | None) -> bool:
    """Return whether a call counts as a write only because no person has confirmed what a model proposes."""
    if tool.effect_from != "unknown" or tool.effect == "read" or tool.extra_set:
        return False
    if proposed == "by_call":
        return call_reads(tool.name, arguments, runs_only=True) is True
    return proposed == "read" and tool.only_reads(arguments) is None


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """Calls that may read and that the recording does not have; `steps` has the reasons by the step that shows them."""

    attempts: frozenset[int] = frozenset()
    steps: Mapping[int, str] = field(default_factory=dict)

    def review(self, verdicts: Sequence[StepVerdict]) -> tuple[StepVerdict, ...]:
        """Return the verdicts; a step with an unconfirmed call does not pass."""
        return tuple(
            replace(verdict, result="needs_review", reason=self.steps[index], decided_by=None)
            if index in self.steps and verdict.result == "passed"
            else verdict
            for index, verdict in enumerate(verdicts)
        )


def unconfirmed(steps: Sequence[CaseStep], attempts: Sequence[Attempt], pairs: Pairs) -> Unconfirmed:
    """Return the unconfirmed calls of a turn that a checked step can show: one of the same tool, else the last answer.

    `pairs` has the turn's steps, by index, with the attempts that they were paired with. A call that no step can show
    stays a violation.
    """
    answer, by_name = None, dict[str, int]()
    for index in (index for index in sorted(pairs) if steps[index].checked):
        step = steps[index]
        if step.kind == "tool_call":
            by_name.setdefault(step.name, index)
        else:
            answer = index
    paired = set(pairs.values())
    shown: defaultdict[int, list[Attempt]] = defaultdict(list)
    numbers = list[int]()
    for n, attempt in enumerate(attempts):
        if attempt.unconfirmed and n not in paired and not attempt.banned and not attempt.removed:
            place = by_name.get(attempt.call.name, answer)
            if place is not None:
                shown[place].append(attempt)
                numbers.append(n)
    return Unconfirmed(frozenset(numbers), {index: _reason(calls) for index, calls in shown.items()})


def _reason(calls: Sequence[Attempt]) -> str:
    call, others = calls[0].call, len(calls) - 1
    more = f", and {others} more such calls came" if others else ""
    return _REASON.format(name=call.name, arguments=shown_json(arguments_of(call.arguments)), more=more)
