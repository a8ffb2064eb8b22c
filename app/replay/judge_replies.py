"""Reads a judge's reply strictly: whatever is not as the rubric wants it needs review."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from reprise_formats.quotes import unescaped

from app.chat import Answer
from app.replay.judge_types import JudgeFinding, JudgeVerdict, OpenStep, StepJudgement
from app.replay.rubric import VERDICTS
from app.values.storable import storable_text
from app.values.structs import convert
from app.values.unicode import nfkc

FINDINGS_MAX = 20  # of a step
QUOTE_MAX = 2_000  # characters of a quote, and of a reason
SHOWN = 300  # characters of a reply that can't be read
_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)


class _Unreadable(Exception):
    """The reply, or the part of it on a step, is not as the rubric wants it; the message is for people."""


def read_reply(answer: Answer, steps: Sequence[OpenStep], judge: str) -> list[StepJudgement]:
    """Return the judgements of a reply on all of `steps`, in their order."""
    try:
        replies = _steps_of(_whole(answer), {step.step for step in steps})
    except _Unreadable as problem:
        return [needs_review(step, f"the judge {judge} {problem}") for step in steps]
    return [_read_step(replies, step, judge) for step in steps]


def unfenced(text: str) -> str:
    """Return a model's reply without the code fence around it, if it has one."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced else text


def needs_review(step: OpenStep, reason: str, findings: tuple[JudgeFinding, ...] = ()) -> StepJudgement:
    """Return the judgement on a step that a person has to decide, for `reason`."""
    return StepJudgement(step.step, "needs_review", findings, reason)


def _whole(answer: Answer) -> str:
    if answer.finish_reason == "length":
        raise _Unreadable("gave a reply that was cut off")
    if answer.finish_reason == "refused":
        raise _Unreadable(f"refused to judge: {storable_text((answer.refusal or answer.text)[:SHOWN])}")
    return answer.text


def _steps_of(text: str, asked: set[int]) -> dict[int, Mapping[str, Any]]:
    try:
        reply = json.loads(unfenced(text), object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise _Unreadable(f"gave no verdict: {storable_text(text[:SHOWN])}") from None
    replies = reply.get("steps") if isinstance(reply, dict) else None
    if not isinstance(replies, list):
        raise _Unreadable(f"gave no verdict: {storable_text(text[:SHOWN])}")
    by_step: dict[int, Mapping[str, Any]] = {}
    for entry in replies:
        step = entry.get("step") if isinstance(entry, dict) else None
        if isinstance(step, bool) or not isinstance(step, int) or step not in asked:
            raise _Unreadable("gave a verdict on a step that it was not asked about")
        if step in by_step:
            raise _Unreadable(f"gave two verdicts on step {step}")
        by_step[step] = entry
    return by_step


def _read_step(replies: Mapping[int, Mapping[str, Any]], step: OpenStep, judge: str) -> StepJudgement:
    reply = replies.get(step.step)
    if reply is None:
        return needs_review(step, f"the judge {judge} gave no verdict on this step")
    try:
        findings = _findings(reply, step)
        verdict, reason = _verdict(reply, findings)
    except _Unreadable as problem:
        return needs_review(step, f"the judge {judge} {problem}")
    if verdict == "needs_review":
        return needs_review(step, f"the judge {judge} {reason}", findings)
    return StepJudgement(step.step, verdict, findings, reason)


def _findings(reply: Mapping[str, Any], step: OpenStep) -> tuple[JudgeFinding, ...]:
    try:
        findings = convert(reply.get("findings"), tuple[JudgeFinding, ...])
    except msgspec.ValidationError:
        raise _Unreadable("gave findings that can't be read") from None
    if len(findings) > FINDINGS_MAX:
        raise _Unreadable(f"gave more than {FINDINGS_MAX} findings")
    for text, quotes in (
        (f"{step.recorded}\n{step.result}", [finding.recorded for finding in findings]),
        (step.produced, [finding.produced for finding in findings]),
    ):
        plain = unescaped if step.kind == "arguments" else str
        searched = _spaced(plain(text)) if any(quotes) else ""
        for quote in quotes:
            if len(quote) > QUOTE_MAX or _spaced(plain(quote)) not in searched:
                raise _Unreadable(f"quoted what is not in the text: {storable_text(quote[:SHOWN])}")
    return tuple(map(_storable, findings))


def _verdict(reply: Mapping[str, Any], findings: Sequence[JudgeFinding]) -> tuple[JudgeVerdict, str]:
    verdict = reply.get("verdict")
    if verdict not in VERDICTS:
        raise _Unreadable("gave no verdict on this step")
    reasons = [finding.why for finding in findings if finding.matters]
    if verdict == "unsure":
        return "needs_review", "is unsure" + "".join(f": {finding.why}" for finding in findings[:1])
    if verdict == "passed":
        explained = " ".join(finding.why for finding in findings)
        return ("needs_review", f"passed the step although: {reasons[0]}") if reasons else ("passed", explained)
    return ("failed", " ".join(reasons)) if reasons else ("needs_review", "failed the step without a reason")


def _storable(finding: JudgeFinding) -> JudgeFinding:
    return JudgeFinding(
        finding.kind,
        storable_text(finding.recorded),
        storable_text(finding.produced),
        finding.matters,
        storable_text(finding.why[:QUOTE_MAX]),
    )


def _spaced(text: str) -> str:
    """Return a text in which equal characters and any white space are written in one way."""
    return " ".join(nfkc(text).split())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is there twice")
    return members
