"""The order of test cases and sessions: those with rare words of the sentence come first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from app.guard import relevance
from app.guard.relevance import WORDS_COUNTED, CaseWords, RelevantSession, most_relevant


def by_relevance(sentence: str, words: Sequence[Collection[str]]) -> list[int]:
    return relevance.by_relevance(sentence, CaseWords.of(words))


def test_the_test_case_with_the_words_of_the_sentence_comes_first() -> None:
    words = [{"greeting", "refund"}, {"refund"}, {"cancel", "booking"}]
    assert by_relevance("Ask before you cancel a booking.", words) == [2, 0, 1]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    words = [{"order"}, {"order", "refund"}, {"order"}]
    assert by_relevance("Each order has one refund.", words)[0] == 1


def test_without_a_common_word_the_order_stays() -> None:
    assert by_relevance("Be kind.", [{"a"}, {"b"}]) == [0, 1]
    assert by_relevance("", []) == []


def test_equal_sums_of_shares_have_the_order_of_the_test_cases() -> None:
    words = [{f"word{n}" for n in range(20)} for _ in range(3)]
    assert by_relevance(" ".join(f"word{n}" for n in reversed(range(20))), words) == [0, 1, 2]


def test_sessions_are_relevant_by_their_words_the_rarest_first() -> None:
    words = CaseWords.of([{"order"}, {"greeting"}, {"order", "refund"}, {"order"}])
    assert most_relevant("Each order has one refund.", words, 3) == [
        RelevantSession(2, ("refund", "order")),
        RelevantSession(0, ("order",)),
        RelevantSession(3, ("order",)),
    ]
    assert [session.session_index for session in most_relevant("Each order has one refund.", words, 1)] == [2]


def test_only_the_rarest_words_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A map has hundreds of sentences, and all sessions may have all of their words."""
    monkeypatch.setattr(relevance, "SESSIONS_COUNTED", 3)
    words = CaseWords.of([{"order", "refund"}, {"order", "booking"}, {"order", "refund"}])

    sessions = most_relevant("Each order, booking or refund.", words, 3)

    assert [(session.session_index, session.words) for session in sessions] == [
        (1, ("booking",)),
        (0, ("refund",)),
        (2, ("refund",)),
    ]
    assert most_relevant("Each order.", words, 1) == [RelevantSession(0, ("order",))]


def test_of_very_many_words_the_rarest_count() -> None:
    words = CaseWords.of([{f"word{n:02}" for n in range(30)}])
    [session] = most_relevant(" ".join(f"word{n:02}" for n in range(30)), words, 1)

    assert session.words == tuple(f"word{n:02}" for n in range(WORDS_COUNTED))


def test_a_sentence_without_a_common_word_has_no_relevant_session() -> None:
    assert most_relevant("Be kind.", CaseWords.of([{"order"}]), 3) == []
