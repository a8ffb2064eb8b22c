"""Ranks test cases and sessions by the words that they have in common with a sentence of a prompt.

A guard map plays its test cases in this order, and offers sessions to make more test cases of.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate
from typing import NamedTuple, Self

from app.search.words import word_set

_READ_MAX = 4_000
_LETTERS_MIN = 3
WORDS_COUNTED, SESSIONS_COUNTED = 20, 4_000
"""The rarest words of a sentence that count, until so many sessions have them, each counted for each of its words."""


@dataclass(frozen=True, slots=True)
class CaseWords:
    """The words of so many test cases or sessions: by word, the indexes of the ones that have it, in order."""

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


class RelevantSession(NamedTuple):
    """A session, by its index, that has `words` of a sentence, the rarest first."""

    session_index: int
    words: tuple[str, ...]


def by_relevance(sentence: str, words: CaseWords) -> list[int]:
    """Return the indexes of the test cases, the ones with the most words in common with a sentence first.

    A word counts more if fewer test cases have it. Words of no test case are only looked up.
    """
    scores = [0.0] * words.cases
    for index, score in _scores(_common(sentence, words), words).items():
        scores[index] = score
    return sorted(range(words.cases), key=lambda index: (-scores[index], index))


def most_relevant(sentence: str, words: CaseWords, most: int) -> list[RelevantSession]:
    """Return up to `most` sessions that have words of a sentence, in the order of `by_relevance`."""
    common = _common(sentence, words)
    scores = _scores(common, words)
    best = nsmallest(most, scores, key=lambda index: (-scores[index], index))
    return [RelevantSession(index, tuple(word for word in common if _has(words.having[word], index))) for index in best]


def _common(sentence: str, words: CaseWords) -> list[str]:
    """Return the words of a sentence that count, the rarest first. Sums of floats depend on their order."""
    own = {word for word in word_set(sentence[:_READ_MAX]) if len(word) >= _LETTERS_MIN}
    known = own & words.having.keys()
    rare = nsmallest(WORDS_COUNTED, known, key=lambda word: (len(words.having[word]), word))
    totals = list(accumulate(len(words.having[word]) for word in rare))
    return rare[: max(1, bisect_right(totals, SESSIONS_COUNTED))]


def _scores(common: Sequence[str], words: CaseWords) -> dict[int, float]:
    scores: dict[int, float] = {}
    for word in common:
        having = words.having[word]
        for index in having:
            scores[index] = scores.get(index, 0.0) + 1 / len(having)
    return scores


def _has(having: Sequence[int], index: int) -> bool:
    position = bisect_left(having, index)
    return position < len(having) and having[position] == index
