"""Lets a judge excuse reads with other arguments, if the recorded result also answers what they ask for.

A judge can err. So it is not asked about a read with another value where the recorded value is one that the user wrote,
such as the number of another order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import UNSET

from app.chat import ToolCall
from app.replay.call_arguments import arguments_of
from app.replay.case_types import CheckedCall
from app.replay.checks import Checker
from app.replay.conversation import result_text
from app.replay.fingerprints import json_of
from app.replay.judge_question import RESULT_MAX, cut
from app.replay.judge_types import OpenStep, StepEvidence, StepJudgement
from app.replay.matching import Pairs
from app.replay.recording import CallKey, Recording, Reply
from app.replay.result_types import ProducedCall
from app.replay.secret_reads import reads_secret
from app.replay.wording import shown_json
from app.values.budget import OverBudget, WorkBudget

_WORD = re.compile(r"\w+")
_LONG_NUMBER = 100  # smaller numbers are counts or pages, and name no thing
AskReads = Callable[[Sequence[OpenStep]], Mapping[int, StepJudgement]]
"""Returns the judgements of open steps by their index."""


class ReadCall(NamedTuple):
    """A read that the recording does not answer; `number` is that of the call in the turn, from 0."""

    number: int
    call: ToolCall
    key: CallKey


class UserWords:
    """The words that the user has written so far. Values are looked up in them. Raises `OverBudget`."""

    def __init__(self, texts: Callable[[], Iterable[str]], budget: WorkBudget) -> None:
        self._texts, self._budget = texts, budget

    @cached_property
    def _words(self) -> str:
        return " ".join(self._read(text) for text in self._texts())

    def have_written(self, value: Any) -> bool:
        """Return whether the user has written this text, or this number of three digits or more."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= _LONG_NUMBER
        if not is_number and not isinstance(value, str):
            return False
        self._budget.read(self._words)
        return len(words := self._read(str(value))) > 2 and words in self._words

    def _read(self, text: str) -> str:
        self._budget.read(text)
        return f" {' '.join(_WORD.findall(text.casefold()))} "


@dataclass(slots=True)
class Excuses:
    """The reads of one turn that a judge has excused, each for a recorded step."""

    users_texts: Callable[[], Iterable[str]] = tuple
    _by_key: dict[CallKey, tuple[int, StepJudgement] | None] = field(default_factory=dict, init=False)
    _by_number: dict[int, tuple[int, StepJudgement]] = field(default_factory=dict, init=False)

    def judgements_of(self, pairs: Pairs) -> dict[int, StepJudgement]:
        """Return, by step, the judgements of the steps that are paired with a call that was excused for them."""
        paired = {step: self._by_number[number] for step, number in pairs.items() if number in self._by_number}
        return {step: judgement for step, (excused, judgement) in paired.items() if step == excused}

    def answer_reads(
        self, reads: Sequence[ReadCall], recording: Recording, checker: Checker, ask: AskReads
    ) -> dict[int, Reply]:
        """Return the recorded replies to the reads that a judge excuses, by the numbers of the calls.

        `ask` is called at most once. Reads with arguments that were asked about in this turn are not asked again.
        """
        asked: dict[int, tuple[CallKey, str]] = {}
        questions, taken = [], 0
        words = UserWords(self.users_texts, checker.budget)
        for _, call, key in reads:
            if key not in self._by_key:
                self._by_key[key] = None
                step = recording.most_similar_step(call, taken)
                if step is not None and (found := _question(step, recording.call(step), call, checker, words)):
                    question, message = found
                    questions.append(question)
                    asked[step], taken = (key, message), taken | 1 << step
        for step, judgement in ask(questions).items() if questions else ():
            if judgement.verdict == "passed":
                key, message = asked[step]
                self._by_key[key] = step, replace(judgement, reason=_reason(message, judgement))
        replies = {}
        for number, _, key in reads:
            if excuse := self._by_key[key]:
                self._by_number[number] = excuse
                replies[number] = recording.answer(number, excuse[0])
        return replies


def _question(
    index: int, step: CheckedCall, call: ToolCall, checker: Checker, words: UserWords
) -> tuple[OpenStep, str] | None:
    """Return the question whether a step's result answers a call, and what differs; None if it must not be asked."""
    compared = checker.compare(step, ProducedCall(call.name, call.arguments, "", "read", "none"))
    if compared.result != "failed" or not compared.is_excusable or reads_secret(call.arguments):
        return None
    try:
        if any(part.actual is not UNSET and words.have_written(part.expected) for part in compared.diff):
            return None
        recorded, produced = (
            json_of(arguments_of(side, checker.budget), checker.budget, ensure_ascii=False)
            for side in (step.arguments, call.arguments)
        )
        checker.budget.read(result := result_text(step))
    except OverBudget:
        return None
    sides = zip(*((part.expected, part.actual) for part in compared.diff), strict=True)
    lost, invented = (tuple(shown_json(value) for value in side if value is not UNSET) for side in sides)
    evidence = StepEvidence((), lost, invented, (compared.differs,))
    shown = cut(result, RESULT_MAX)
    question = OpenStep(index, "arguments", step.name, recorded, produced, evidence, result=shown)
    return question, compared.message or ""


def _reason(message: str, judgement: StepJudgement) -> str:
    """Return what differs and who excused it; the reason of a known judgement names that."""
    decided = (
        "The recorded result answers" if judgement.is_earlier else "The judge decided that the recorded result answers"
    )
    return f"{message}. {decided} this call" + (f": {judgement.reason}" if judgement.reason else "")
