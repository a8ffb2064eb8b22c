"""The verdict of `meaning` without a judge on pairs of answers that were judged by hand."""

from __future__ import annotations

from app.replay.checks import Checker
from app.replay.findings import ProducedAnswer
from app.replay.texts.sources import Sources
from app.replay.types import Check, CheckedAnswer
from tests.gate.pairs import lines_of

MEANING = Check(answer="meaning")


def verdict(recorded: str, produced: str, sources: Sources) -> str:
    checker = Checker({}, lambda: sources, judges=False)
    passed = checker.compare(CheckedAnswer(text=recorded, check=MEANING), ProducedAnswer(produced)).result == "passed"
    return "same" if passed else "other"


def test_an_answer_passes_if_it_says_the_same_and_the_file_names_each_mistake() -> None:
    found, expected = [], []
    for sources, (judged, recorded, produced) in lines_of("answer_pairs.txt"):
        right = judged.removeprefix("?")
        wrong = {"same": "other", "other": "same"}[right]
        line = f"{recorded!r} -> {produced!r}"
        found.append((verdict(recorded, produced, sources), line))
        expected.append((wrong if judged.startswith("?") else right, line))

    assert set(found) ^ set(expected) == set()
    assert len(found) > 100
