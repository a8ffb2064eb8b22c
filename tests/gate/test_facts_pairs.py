"""Precision and recall of `facts` on pairs of texts that were judged by hand, before the program saw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from app.replay.texts.facts import compare_facts
from app.replay.texts.sources import Sources
from tests.gate.pairs import lines_of

FLOORS = {"facts_pairs.txt": 0.94, "facts_pairs_unseen.txt": 0.88}


@dataclass(frozen=True)
class Pair:
    """Two texts, the scene that they are of, and the values that a reader finds lost and invented."""

    kind: str
    recorded: str
    produced: str
    lost: frozenset[str]
    invented: frozenset[str]
    sources: Sources


def pairs(file: str) -> Iterator[Pair]:
    for sources, (kind, recorded, produced, lost, invented) in lines_of(file):
        yield Pair(kind, recorded, produced, values(lost), values(invented), sources)


def values(field: str) -> frozenset[str]:
    return frozenset(value.strip() for value in field.split(";") if value.strip())


@dataclass
class Score:
    """Count the expected values, lost or invented, that were found."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)


def measure(file: str) -> tuple[dict[str, Score], list[str], Counter[str]]:
    scores: dict[str, Score] = {}
    mistakes = []
    counts: Counter[str] = Counter()
    for pair in pairs(file):
        facts = compare_facts(pair.recorded, pair.produced, pair.sources)
        found = {("lost", value) for value in facts.lost} | {("invented", value) for value in facts.invented}
        expected = {("lost", value) for value in pair.lost} | {("invented", value) for value in pair.invented}
        counts[pair.kind] += 1
        for score in (scores.setdefault(pair.kind, Score()), scores.setdefault("all", Score())):
            score.right += len(found & expected)
            score.wrong += len(found - expected)
            score.missed += len(expected - found)
        if found != expected:
            mistakes.append(f"{pair.recorded!r} -> {pair.produced!r}: {sorted(found ^ expected)}")
    return scores, mistakes, counts


@pytest.mark.parametrize("file", FLOORS)
def test_what_facts_finds_is_what_a_reader_finds(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    scores, mistakes, counts = measure(file)

    with capsys.disabled():
        print()
        for kind, score in sorted(scores.items()):
            pairs_of = counts[kind] or counts.total()
            print(f"{kind:8} {pairs_of:3} pairs  precision {score.precision:.3f}  recall {score.recall:.3f}")
        print(*mistakes, sep="\n")
    assert scores["all"].precision >= FLOORS[file]
    assert scores["all"].recall >= FLOORS[file]


def test_the_pairs_are_300_at_least() -> None:
    assert sum(measure(file)[2].total() for file in FLOORS) >= 300
