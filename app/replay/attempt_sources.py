"""What the texts of a replay that has ended can draw on, for the calibration that compares them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

from app.replay.case_types import TestCase
from app.replay.ports import DraftPort
from app.replay.recorded_sources import RecordedSources
from app.replay.result_types import FROM_ELSEWHERE, ReplayResult, TurnResult
from app.replay.text_reader import TextReader
from app.replay.texts.background import TextBackground
from app.replay.texts.sources import Sources
from app.replay.texts.value_forms import Forms

_TURNS_PER_STEP = 32  # earlier turns that a step of work looks at: their messages were read before


class AttemptSources:
    """The sources of each turn of one replay. What turns have in common is read once."""

    def __init__(
        self, case: TestCase, draft: DraftPort, recorded: RecordedSources, reader: TextReader, result: ReplayResult
    ) -> None:
        self._case, self._draft, self._recorded, self._reader = case, draft, recorded, reader
        self._turns = result.turns
        texts = [
            (
                [message.text for message in turn.earlier or () if message.role != "tool"],
                [text for text in (played.user, *_answers(played)) if text],
            )
            for turn, played in zip(case.turns, result.turns, strict=False)
        ]
        self._messages = [*chain.from_iterable(chain.from_iterable(texts))]
        # The number of messages before the question of each turn.
        self._first_messages = list(accumulate(len(part) for of_turn in texts for part in of_turn))[::2]
        self._background = TextBackground(reader)
        self._pool = Forms()
        self._later_sources: list[Sequence[Sources]] = []

    def of(self, index: int) -> Sources:
        """Return what the texts of a turn can draw on. Raises `OverBudget`: the turns before it are its steps, too."""
        self._reader.budget.spend(index // _TURNS_PER_STEP)
        turn = self._case.turns[index]
        return Sources(
            instruction=self._draft.render(turn.placeholders or {}).instruction,
            user=turn.user or "",
            messages=self._messages[: self._first_messages[index]],
            results=_results_elsewhere(self._turns[index]),
            before=[self._recorded.until(index), *self._results_before(index)],
            background=self._background,
            reader=self._reader,
        )

    def _results_before(self, index: int) -> Sequence[Sources]:
        """Return the results of earlier turns' calls that are none of the recording; each is read once."""
        while len(self._later_sources) < index:
            results = _results_elsewhere(self._turns[len(self._later_sources)])
            before = self._later_sources[-1] if self._later_sources else ()
            read = (
                [Sources(results=results, before=before, pool=self._pool, reader=self._reader)] if results else before
            )
            self._later_sources.append(read)
        return self._later_sources[index - 1] if index else ()


def _answers(turn: TurnResult) -> list[str]:
    extra = (step.text for step in turn.extra if step.kind == "answer")
    return [*(step.actual for step in turn.steps if step.kind == "answer" and step.actual), *extra]


def _results_elsewhere(turn: TurnResult) -> list[Any]:
    """Return the results of calls that are none of the turn's recording."""
    shown = (step.actual for step in turn.steps if step.kind == "tool_call" and isinstance(step.actual, dict))
    paired = [step.get("result") for step in shown if step.get("answeredBy") in FROM_ELSEWHERE]
    return [
        *paired,
        *(step.result for step in turn.extra if step.kind == "tool_call" and step.answered_by in FROM_ELSEWHERE),
    ]
