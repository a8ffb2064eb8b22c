"""Finds what a draft must not do: writes that are not in the recording, tools that it lost, orders that it broke."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise_formats.replay_words import EFFECTS

from app.chat import ToolCall
from app.replay.call_arguments import arguments_of
from app.replay.call_effects import changes_data
from app.replay.case_types import CaseStep, Order
from app.replay.effects import Tool
from app.replay.matching import first_accepted, lowest_bit
from app.replay.result_types import AnsweredBy, Violation, ViolationKind
from app.replay.secret_reads import reads_secret
from app.replay.wording import shown_json

# Returns how the arguments of an attempt differ from those of a step, by their indexes.
Explain = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that the draft made in a turn; `banned` if its tool may not be called, or no more.

    It is `removed` if a person took this call out of the recorded turn, `after_fault` if a call before it had failed on
    purpose, and `unconfirmed` if a model proposes that it reads, and no person has confirmed that.
    """

    call: ToolCall
    tool: Tool
    answered_by: AnsweredBy
    accepted: int  # bit s is set where the turn's s-th step accepts the call
    banned: ViolationKind | None = None
    removed: bool = False
    after_fault: bool = False
    unconfirmed: bool = False


def violations_of_turn(
    turn: int,
    steps: Sequence[CaseStep],
    attempts: Sequence[Attempt],
    pairs: Mapping[int, int],
    order: Order,
    explain: Explain,
    reviewed: Collection[int] = (),
) -> list[Violation]:
    """Return the violations of the calls of a turn, at most one for each, in the order of the calls.

    `pairs` has the turn's steps, by index, with the attempts that they were paired with. A person reviews the attempts
    in `reviewed`.
    """
    paired = {attempt: step for step, attempt in pairs.items()}
    early = _early_writes(steps, attempts, pairs) if order == "effects" else {}
    recorded = Counter(step.name for step in steps if step.kind == "tool_call")
    violations = []
    for n, attempt in enumerate(attempts):
        if n in reviewed:
            continue
        index = paired.get(n)
        if kind := _kind(attempt, None if index is None else steps[index], index):
            differs = "" if index is None else explain(index, n)
            violations.append(_violation(kind, turn, attempt, differs, recorded[attempt.call.name]))
        elif n in early:
            violations.append(_order_violation(turn, attempt, early[n]))
    return violations


def lost_tools(
    turn: int, steps: Iterable[CaseStep], offered: Iterable[str], tools: Mapping[str, Tool]
) -> list[Violation]:
    """Return a violation for each tool that the recorded turn calls and the draft does not offer."""
    there = {*offered}
    called = dict.fromkeys(step.name for step in steps if step.kind == "tool_call" and not step.hosted)
    return [
        Violation(
            "lost_tool",
            name,
            turn,
            None,
            f"Turn {turn + 1}: the recording calls {name}, which was not offered now. Offer {name} again, or allow in "
            f"the test case that {name} is lacking.",
        )
        for name in called
        if name not in there and tools[name].lost == "fail"
    ]


def first_of_each_tool(violations: Iterable[Violation]) -> Iterator[Violation]:
    """Leave out the further turns of a tool that was lost, and further calls above its limit."""
    seen = set()
    for violation in violations:
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
    early = _out_of_order(steps, attempts, pairs)
    calls = {step for step, n in pairs.items() if steps[step].kind == "tool_call" and attempts[n].accepted >> step & 1}
    as_they_came = paired_as_they_came(attempts) if early else {}
    if early and as_they_came.keys() >= calls:
        early = min(early, _out_of_order(steps, attempts, as_they_came), key=len)
    return early


def paired_as_they_came(attempts: Sequence[Attempt]) -> dict[int, int]:
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
    first = first_accepted({n: attempt.accepted for n, attempt in enumerate(attempts)})
    latest, before = -1, ""  # the last of the preceding calls
    batch, pending = "", list[tuple[int, str]]()
    early = {}
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
            early[at] = before
        pending.append((at, step.name))
    return early


def _violation(kind: ViolationKind, turn: int, attempt: Attempt, differs: str, recorded: int) -> Violation:
    """Return the violation; `differs` is how the call differs from the step that it is paired with, "" without one.

    `recorded` is the number of calls of the tool that the turn's recording has.
    """
    name, tool = attempt.call.name, attempt.tool
    called = f"Turn {turn + 1}: {name} was called with {shown_json(arguments_of(attempt.call.arguments))}"
    beyond = f"The recording has {_times(recorded)} of {name} in this turn, and this is one more"
    if not recorded:
        beyond = f"The recording has no call of {name} in this turn"
    forbidden = _forbidden(attempt.call.arguments)
    harmless = EFFECTS["by_call"] if tool.only_reads(attempt.call.arguments) else EFFECTS["read"]
    unlike = f"It differs from the recorded call: {differs}" if differs else f"{beyond}, without a result"
    advice = {
        "never": f"{called}. The test case never allows a call of {name}. Change the draft so that it does without "
        f"{name}, or allow calls of {name} in the test case.",
        "max_calls": f"{called}. The test case allows {tool.max_calls} calls of {name} in all. Change the draft so "
        f"that it calls {name} less often, or allow more calls of {name} in the test case.",
        "extra_write": f"{called}. {beyond}. The call changes something. Change the draft so that it does not make "
        f"this call. If the call is right, allow calls of {name} beyond the recording in the test case; if it changes "
        f'nothing, set the effect of {name} there to "{harmless}".',
        "extra_read": f"{called}. {beyond}{forbidden}. Change the draft, or allow calls of {name} beyond the recording "
        "in the test case.",
        "unanswered_write": f"{called}. {unlike}. The call was not answered, because {name} changes something. Change "
        f"the draft. If the call is right, define in the test case how the arguments of {name} may differ.",
        "repeated_write": f"{called} again, after this call had failed on purpose. It may have had its effect all the "
        f"same. Change the draft so that it does not repeat the call. If a call of {name} may safely be repeated, "
        f"allow that in the test case.",
    }
    message = advice[kind]
    if kind == "extra_write" and attempt.after_fault:
        message = (
            f"{called}, after another call had failed on purpose. {beyond}. The call changes something. Change the "
            "draft so that it changes nothing else instead, and reports what was not possible."
        )
    if kind == "extra_write" and attempt.removed:
        message = (
            f"{called}. The recorded agent did this, and a person removed the call from the test case because it was "
            f"wrong: change the draft so that it does not call {name} here."
        )
    return Violation(kind, name, turn, attempt.call.arguments, message)


def _forbidden(arguments: Any) -> str:
    """Return a further sentence of why a read is not allowed beyond the recording by default; "" if it is allowed."""
    if reads_secret(arguments):
        return ". The call reads a secret"
    return ". The statement changes data, though the tool counts as one that reads" if changes_data(arguments) else ""


def _times(count: int) -> str:
    return "one call" if count == 1 else f"{count} calls"


def _order_violation(turn: int, attempt: Attempt, before: str) -> Violation:
    name = attempt.call.name
    message = (
        f"Turn {turn + 1}: {name} was called before {before}, which came first in the recording. Change the draft so "
        f"that it waits for {before}, or allow any order of tool calls in the test case."
    )
    return Violation("order", name, turn, attempt.call.arguments, message)
