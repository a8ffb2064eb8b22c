"""Decides the open steps of a turn: by what is known already, then by the judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.errors import ProviderError
from app.replay.judge_types import JudgedTurn, OpenStep, StepJudgement, TurnJudgement
from app.replay.ports import Ports

JUDGE_FAILED = "the judge failed"


def decide(ports: Ports, index: int, turn: JudgedTurn, may_ask: Callable[[OpenStep], bool]) -> TurnJudgement:
    """Return judgements of the open steps of turn `index` that are known or may be asked about.

    One without a reason that needs review is of a step about which no one was asked. Never raises `ProviderError`.
    """
    known = dict(ports.known.recall(index, turn)) if ports.known else {}
    open_steps = tuple(
        step
        for step in turn.steps
        if ports.judge and may_ask(step) and not (step.step in known and known[step.step].known)
    )
    judged = _asked(ports, index, replace(turn, steps=open_steps)) if open_steps else TurnJudgement(())
    for judgement in judged.steps:
        digest = known[judgement.step].digest if judgement.step in known else None
        known[judgement.step] = replace(judgement, digest=digest)
    return TurnJudgement(tuple(known[step.step] for step in turn.steps if step.step in known), judged.tokens)


def _asked(ports: Ports, index: int, turn: JudgedTurn) -> TurnJudgement:
    assert ports.judge  # noqa: S101 - only then are there steps to ask about
    try:
        judgement = ports.judge.judge_turn(turn)
    except ProviderError as problem:
        reason = f"{JUDGE_FAILED}: {problem}"
        return TurnJudgement(tuple(StepJudgement(step.step, "needs_review", reason=reason) for step in turn.steps))
    if ports.known:
        ports.known.remember(index, judgement)
    return judgement
