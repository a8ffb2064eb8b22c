"""The verdicts of `meaning` without a judge, and of `facts`, on pairs of answers that were judged by hand."""

from __future__ import annotations

from collections import Counter

from app.replay.case_types import AnswerCheck, Check, CheckedAnswer
from app.replay.checks import Checker
from app.replay.result_types import ComparisonResult, ProducedAnswer
from app.replay.texts.sources import Sources
from tests.gate.pairs import lines_of

# Answers of the same meaning that `facts` fails, and of how many; answers of another meaning that it passes.
WRONG = (8, 109, 58, 103)
PAIRS = [(judged.removeprefix("?"), recorded, produced, sources) for sources, (judged, recorded, produced) in
         lines_of("answer_pairs.txt")]  # fmt: skip


def verdict(check: AnswerCheck, recorded: str, produced: str, sources: Sources) -> ComparisonResult:
    step = CheckedAnswer(text=recorded, check=Check(answer=check))
    return Checker({}, lambda: sources).compare(step, ProducedAnswer(produced)).result


def test_meaning_passes_no_other_words_without_a_judge_and_fails_none() -> None:
    assert len(PAIRS) > 200
    assert {verdict("meaning", *pair) for _, *pair in PAIRS} == {"needs_review"}


def test_facts_is_wrong_as_often_as_the_page_shows() -> None:
    found = Counter((judged, verdict("facts", *pair)) for judged, *pair in PAIRS)

    print(found)
    same, other = (sum(count for (judged, _), count in found.items() if judged == kind) for kind in ("same", "other"))
    assert (found["same", "failed"], same, found["other", "passed"], other) == WRONG
