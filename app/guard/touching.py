"""The order in which the test cases of a guard map are played: first the ones that a sentence is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from app.search.words import word_set

_READ_MAX = 4_000
_LETTERS_MIN = 3


@dataclass(frozen=True, slots=True)
class CaseWords:
    """The words of so many test cases: the indexes of the test cases that have a word, by word."""

    cases: int
    having: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, words: Iterable[Collection[str]]) -> Self:
        """Return the words of test cases: those of their users' messages, and of the names of their tools."""
        having: dict[str, list[int]] = {}
        cases = 0
        for of_case in words:
            for word in set(of_case):
                having.setdefault(word, []).append(cases)
            cases += 1
        return cls(cases, having)


def ordered(sentence: str, words: CaseWords) -> list[int]:
    """Return the indexes of the test cases, those with the most words in common with a sentence first.

    A word counts more if fewer test cases have it. Words of no test case are only looked up.
    """
    own = {word for word in word_set(sentence[:_READ_MAX]) if len(word) >= _LETTERS_MIN}
    scores = [0.0] * words.cases
    # Sums of floats depend on their order, and the order of a set on the process.
    for word in sorted(own & words.having.keys()):
        having = words.having[word]
        for index in having:
            scores[index] += 1 / len(having)
    return sorted(range(words.cases), key=lambda index: (-scores[index], index))
