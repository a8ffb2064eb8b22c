"""The order of test cases and sessions: those with rare words of the sentence come first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.guard import touching
from app.guard.touching import CaseWords, Touch, touched


def ordered(sentence: str, words: Sequence[Collection[str]]) -> list[int]:
    return touching.ordered(sentence, CaseWords.of(words))


def test_the_test_case_with_the_words_of_the_sentence_comes_first() -> None:
    words = [{"greeting", "refund"}, {"refund"}, {"cancel", "booking"}]
    assert ordered("Ask before you cancel a booking.", words) == [2, 0, 1]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    words = [{"order"}, {"order", "refund"}, {"order"}]
    assert ordered("Each order has one refund.", words)[0] == 1


def test_without_a_common_word_the_order_stays() -> None:
    assert ordered("Be kind.", [{"a"}, {"b"}]) == [0, 1]
    assert ordered("", []) == []


def test_equal_sums_of_shares_have_the_order_of_the_test_cases() -> None:
    words = [{f"word{n}" for n in range(20)} for _ in range(3)]
    assert ordered(" ".join(f"word{n}" for n in reversed(range(20))), words) == [0, 1, 2]


def test_sessions_are_touched_by_their_words_the_rarest_first() -> None:
    words = CaseWords.of([{"order"}, {"greeting"}, {"order", "refund"}, {"order"}])
    assert touched("Each order has one refund.", words, 3) == [
        Touch(2, ("refund", "order")),
        Touch(0, ("order",)),
        Touch(3, ("order",)),
    ]
    assert [touch.place for touch in touched("Each order has one refund.", words, 1)] == [2]


def test_a_sentence_without_a_common_word_touches_no_session() -> None:
    assert touched("Be kind.", CaseWords.of([{"order"}]), 3) == []
