"""Writes the question to a judge: its parts between delimiters, none larger than its bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from app.chat import Message
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepEvidence
from app.replay.rubric import TASK

# Characters of one question: texts of steps are never cut, the rest is cut with a mark.
STEPS_MAX = 200_000
CONTEXT_MAX = {"instruction": 60_000, "conversation": 60_000, "user": 40_000, "calls": 60_000}
ATTEMPTS = 3  # to find a nonce that the parts do not hold
VALUES_MAX = 50  # of a step's evidence
RESULT_MAX = 20_000  # characters of a recorded result


class QuestionPart(NamedTuple):
    """A part of a question, such as `recorded 3`."""

    name: str
    text: str


def fitting(steps: Sequence[OpenStep]) -> list[OpenStep]:
    """Return the steps, from the first on, that one question has room for."""
    room = STEPS_MAX
    kept: list[OpenStep] = []
    for step in steps:
        size = len(step.recorded) + len(step.produced) + len(step.assertion) + len(step.result)
        if size <= room:
            kept.append(step)
            room -= size
    return kept


def parts(turn: JudgedTurn, steps: Sequence[OpenStep], *, again: bool = False) -> list[QuestionPart]:
    """Return the parts of a question about steps of a turn.

    `again` is for the second look: the two texts of a step come in the other order, and the evidence as a question.
    """
    context = {
        "instruction": turn.instruction,
        "conversation": "\n\n".join(map(_message, turn.conversation)),
        "user": turn.user,
        "calls": "\n\n".join(map(_call, turn.calls)),
    }
    shown = [QuestionPart(name, cut(text, CONTEXT_MAX[name])) for name, text in context.items()]
    return shown + [part for step in steps for part in _step_parts(step, again=again)]


def enclosed(shown: Sequence[QuestionPart], draw: Callable[[], str]) -> tuple[str, str] | None:
    """Return a drawn nonce and the parts, each between lines that hold it; None if the parts hold each drawn nonce."""
    drawn = (draw() for _ in range(ATTEMPTS))
    nonce = next((word for word in drawn if not any(word in part.text for part in shown)), None)
    if nonce is None:
        return None
    return nonce, "\n\n".join(f"[begin {name} {nonce}]\n{text}\n[end {name} {nonce}]" for name, text in shown)


def task(steps: Sequence[OpenStep]) -> str:
    """Return what the question asks for: verdicts on the steps."""
    return TASK.format(steps=", ".join(str(step.step) for step in steps))


def _step_parts(step: OpenStep, *, again: bool) -> Iterator[QuestionPart]:
    texts = [QuestionPart(f"recorded {step.step}", step.recorded), QuestionPart(f"produced {step.step}", step.produced)]
    yield from reversed(texts) if again else texts
    yield QuestionPart(f"evidence {step.step}", "\n".join(_evidence(step, again=again)) or "none")
    if step.assertion:
        yield QuestionPart(f"assertion {step.step}", step.assertion)
    if step.result:
        yield QuestionPart(f"result {step.step}", step.result)


def _evidence(step: OpenStep, *, again: bool) -> Iterator[str]:
    evidence = step.evidence
    if step.kind == "arguments":
        yield f"The texts are the arguments of a call of {step.tool}."
    if again:
        yield _doubt(evidence)
        return
    for title, values in (
        ("Values that both texts have", evidence.kept),
        ("Values that only the recorded text has", evidence.lost),
        ("Values that only the produced text has", evidence.invented),
        ("Differences", evidence.differences),
    ):
        if values:
            yield f"{title}: {_listed(values)}"


def _doubt(evidence: StepEvidence) -> str:
    changed = [
        f"{verb} {_listed(values)}"
        for verb, values in (("lacks", evidence.lost), ("adds", evidence.invented))
        if values
    ]
    if changed:
        return f"The produced text {' and '.join(changed)}. Is that without harm for the user and the owner?"
    return f"Both texts have these values: {_listed(evidence.kept)}. What, if anything, has another meaning?"


def _listed(values: Sequence[str]) -> str:
    more = f" and {len(values) - VALUES_MAX} more" if len(values) > VALUES_MAX else ""
    return "; ".join(cut(value, 200) for value in values[:VALUES_MAX]) + more


def _message(message: Message) -> str:
    calls = "".join(f"\n(calls {call.name} with {_json(call.arguments)})" for call in message.tool_calls)
    return f"{message.role}: {message.text}{calls}"


def _call(call: JudgedCall) -> str:
    return f"{call.name} was called with {_json(call.arguments)}\nand answered: {call.result}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def cut(text: str, most: int) -> str:
    """Return a text without its middle, which a mark names, if it is longer than `most`."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters are left out here …]\n{text[-half:]}"
