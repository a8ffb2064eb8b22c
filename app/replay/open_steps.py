"""Judges the open steps of a turn: by earlier verdicts on the same texts, then by the judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.errors import ProviderError
from app.replay.judge_types import JudgedTurn, OpenStep, StepJudgement, TurnJudgement
from app.replay.ports import Ports

JUDGE_FAILED = "the judge failed"


def judge_open_steps(ports: Ports, index: int, turn: JudgedTurn, may_ask: Callable[[OpenStep], bool]) -> TurnJudgement:
    """Return a judgement of each open step of turn `index` that has an earlier verdict or that the judge may decide.

    The judge is asked once, about the steps without an earlier verdict for which `may_ask` returns True. A step for
    which neither holds has no judgement, or a judgement `needs_review` without a reason. If the judge's provider fails,
    its steps need review: no `ProviderError` is raised.
    """
    judgements = dict(ports.earlier_verdicts.recall(index, turn)) if ports.earlier_verdicts else {}
    undecided = (step for step in turn.steps if not (step.step in judgements and judgements[step.step].is_earlier))
    asked = tuple(step for step in undecided if ports.judge and may_ask(step))
    judged = _judged(ports, index, replace(turn, steps=asked)) if asked else TurnJudgement(())
    for judgement in judged.steps:
        digest = judgements[judgement.step].digest if judgement.step in judgements else None
        judgements[judgement.step] = replace(judgement, digest=digest)
    return TurnJudgement(tuple(judgements[step.step] for step in turn.steps if step.step in judgements), judged.tokens)


def _judged(ports: Ports, index: int, turn: JudgedTurn) -> TurnJudgement:
    assert ports.judge  # noqa: S101 - only then are there steps to ask about
    try:
        judgement = ports.judge.judge_turn(turn)
    except ProviderError as problem:
        reason = f"{JUDGE_FAILED}: {problem}"
        return TurnJudgement(tuple(StepJudgement(step.step, "needs_review", reason=reason) for step in turn.steps))
    if ports.earlier_verdicts:
        ports.earlier_verdicts.remember(index, judgement)
    return judgement
