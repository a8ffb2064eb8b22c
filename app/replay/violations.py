"""Finds what a draft must not do: writes that are not in the recording, tools that it lost, orders that it broke."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.chat import ToolCall
from app.replay.compare import arguments_of
from app.replay.effects import Tool
from app.replay.findings import AnsweredBy, Violation, ViolationKind
from app.replay.matching import lowest_bit
from app.replay.types import CaseStep, Order

MOST_SHOWN = 200  # characters of arguments in a message


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that the draft made in a turn; `banned` if its tool may not be called, or no more.

    It is `removed` if a person took this call out of the recorded turn.
    """

    call: ToolCall
    tool: Tool
    answered_by: AnsweredBy
    accepted: int  # bit s is set where the turn's s-th step accepts the call
    banned: ViolationKind | None = None
    removed: bool = False


def violations_of_turn(
    turn: int, steps: Sequence[CaseStep], attempts: Sequence[Attempt], pairs: Mapping[int, int], order: Order
) -> list[Violation]:
    """Return the violations of the calls of a turn, at most one for each, in the order of the calls.

    `pairs` has the turn's steps, by index, with the attempts that they were paired with.
    """
    paired = {attempt: step for step, attempt in pairs.items()}
    early = _early_writes(steps, attempts, pairs) if order == "effects" else {}
    found = []
    for n, attempt in enumerate(attempts):
        step = steps[paired[n]] if n in paired else None
        if kind := _kind(attempt, step, paired.get(n)):
            found.append(_violation(kind, turn, attempt, step))
        elif n in early:
            found.append(_order_violation(turn, attempt, early[n]))
    return found


def lost_tools(
    turn: int, steps: Iterable[CaseStep], offered: Iterable[str], tools: Mapping[str, Tool]
) -> list[Violation]:
    """Return a violation for each tool that the recorded turn calls and the draft does not offer."""
    there = {*offered}
    called = dict.fromkeys(step.name for step in steps if step.kind == "tool_call")
    return [
        Violation(
            "lost_tool",
            name,
            turn,
            None,
            f"Turn {turn + 1}: the recording calls {name}, and the draft does not offer it. Put {name} back into the "
            f"draft's tools, or set lost to allow for {name} in the test case.",
        )
        for name in called
        if name not in there and tools[name].lost == "fail"
    ]


def first_of_each_tool(found: Iterable[Violation]) -> Iterator[Violation]:
    """Leave out the further turns of a tool that was lost, and further calls above its limit."""
    seen = set()
    for violation in found:
        once = violation.kind in ("lost_tool", "max_calls")
        if not once or (violation.kind, violation.tool) not in seen:
            yield violation
        seen.add((violation.kind, violation.tool))


def _kind(attempt: Attempt, step: CaseStep | None, index: int | None) -> ViolationKind | None:
    tool = attempt.tool
    if attempt.banned:
        return attempt.banned
    if index is not None and attempt.accepted >> index & 1:
        return None
    if step is not None:
        return "unanswered_write" if tool.effect == "write" else None
    if tool.extra == "fail" or (attempt.removed and tool.effect == "write"):
        return "extra_write" if tool.effect == "write" else "extra_read"
    return "unanswered_write" if tool.effect == "write" and attempt.answered_by == "none" else None


def _early_writes(steps: Sequence[CaseStep], attempts: Sequence[Attempt], pairs: Mapping[int, int]) -> dict[int, str]:
    """Return what `_out_of_order` finds, or less where the calls can be paired otherwise.

    Checked steps are paired first, which may exchange calls that the same steps accept.
    """
    found = _out_of_order(steps, attempts, pairs)
    calls = {step for step, n in pairs.items() if steps[step].kind == "tool_call" and attempts[n].accepted >> step & 1}
    as_they_came = _paired_as_they_came(attempts) if found else {}
    if found and as_they_came.keys() >= calls:
        found = min(found, _out_of_order(steps, attempts, as_they_came), key=len)
    return found


def _paired_as_they_came(attempts: Sequence[Attempt]) -> dict[int, int]:
    """Return pairs in which each attempt has the first step that accepts it and that no earlier attempt has."""
    pairs: dict[int, int] = {}
    taken = 0
    for n, attempt in enumerate(attempts):
        if free := attempt.accepted & ~taken:
            step = lowest_bit(free)
            taken |= 1 << step
            pairs[step] = n
    return pairs


def _out_of_order(steps: Sequence[CaseStep], attempts: Sequence[Attempt], pairs: Mapping[int, int]) -> dict[int, str]:
    """Return the attempts that write before what preceded them in the recording, with the name of that tool.

    What precedes a write are the recorded reads and writes of earlier messages of the model: a read counts by the
    first call that its step accepts, a write by its own. Calls that one message asked for have no order.
    """
    first: dict[int, int] = {}
    seen = 0
    for n, attempt in enumerate(attempts):
        new = attempt.accepted & ~seen
        seen |= new
        while new:
            accepting = lowest_bit(new)
            new ^= 1 << accepting
            first[accepting] = n
    latest, before = -1, ""  # the last of the preceding calls
    batch, pending = "", list[tuple[int, str]]()
    found = {}
    for index, step in enumerate(steps):
        if step.kind != "tool_call" or not step.checked or index not in first:
            continue
        if not step.batch or step.batch != batch:
            latest, before = max([(latest, before), *pending])
            batch, pending = step.batch, []
        writes = attempts[first[index]].tool.effect == "write"
        at = pairs.get(index) if writes else first[index]
        if at is None or not attempts[at].accepted >> index & 1:
            continue
        if writes and at < latest:
            found[at] = before
        pending.append((at, step.name))
    return found


def _violation(kind: ViolationKind, turn: int, attempt: Attempt, step: CaseStep | None) -> Violation:
    name, tool = attempt.call.name, attempt.tool
    unknown = "which are not the recorded arguments" if step else "for which the recording has no result"
    called = f"Turn {turn + 1}: {name} was called with {shown_arguments(attempt.call.arguments)}"
    advice = {
        "never": f"{called}, and the test case says that it must never be called. Change the draft so that it does "
        f"without {name}, or set never to false for {name}.",
        "max_calls": f"{called}, and the test case allows {tool.max_calls} calls of {name} in all. Change the draft so "
        f"that it calls {name} less often, or raise maxCalls for {name}.",
        "extra_write": f"{called}, which the recording does not have in this turn, or not once more. {name} acts on "
        f"the world: change the draft so that it makes no such call. If the call is right, set extra to allow for "
        f"{name}; if it changes nothing, set its effect to read.",
        "extra_read": f"{called}, which the recording does not have in this turn, or not once more. Change the draft, "
        f"or set extra to allow for {name}.",
        "unanswered_write": f"{called}, {unknown}. The call was not answered, because {name} acts on the "
        f"world: change the draft, or tell the test case how the arguments of {name} may differ.",
    }
    message = advice[kind]
    if kind == "extra_write" and attempt.removed:
        message = (
            f"{called}. The recorded agent did this, and a person removed the call from the test case because it was "
            f"wrong: change the draft so that it does not call {name} here."
        )
    return Violation(kind, name, turn, attempt.call.arguments, message)


def _order_violation(turn: int, attempt: Attempt, before: str) -> Violation:
    name = attempt.call.name
    message = (
        f"Turn {turn + 1}: {name} was called before {before}, which came first in the recording. Change the draft so "
        f"that it waits for {before}, or set order to any in the test case."
    )
    return Violation("order", name, turn, attempt.call.arguments, message)


def shown_arguments(arguments: Any) -> str:
    """Return the arguments of a call as a message has them: JSON, cut at `MOST_SHOWN` characters."""
    text = json.dumps(arguments_of(arguments), ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
