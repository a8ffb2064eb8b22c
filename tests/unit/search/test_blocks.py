"""A block knows the words of its turns, however they come, and which turns have too many to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search import blocks
from app.search.blocks import (
    ALL_TURNS,
    BLOCK_BYTES,
    BUCKET_BYTES,
    BUCKETS_PER_BLOCK,
    TURNS_PER_BLOCK,
    bucket_of,
    changed_buckets,
    turns_with,
    unindexed_in,
)
from app.search.query import Term
from tests.support.operations import growth_of

pytestmark = pytest.mark.slow

WORDS = st.sets(st.sampled_from(["a", "ab", "abc", "refund", "東京", "京", "größe"]), max_size=5)
# Some turns that are read at once, by their index; None is a turn with too many words.
READ = st.dictionaries(st.sampled_from([0, 1, 31, 62, 63]), st.none() | WORDS, max_size=4)


def put(stored: Mapping[int, bytes], read: Mapping[int, set[str] | None]) -> dict[int, bytes]:
    words: dict[str, int] = {}
    for index, of_turn in read.items():
        for word in of_turn or ():
            words[word] = words.get(word, 0) | 1 << index
    unindexed = sum(1 << index for index, of_turn in read.items() if of_turn is None)
    changed = changed_buckets(stored, sum(1 << index for index in read), words, unindexed)
    return {bucket: lines for bucket, lines in {**stored, **changed}.items() if lines}


def having(stored: Mapping[int, bytes], word: str, **kind: bool) -> int:
    return turns_with(Term((word,), **kind), stored.get(bucket_of(word), b""))


@given(st.lists(READ, max_size=5))
def test_a_block_knows_the_words_of_the_turns_as_they_were_read_last(
    reads: Sequence[dict[int, set[str] | None]],
) -> None:
    stored: dict[int, bytes] = {}
    turns: dict[int, set[str] | None] = {}
    for read in reads:
        stored, turns = put(stored, read), turns | read

    for word in ("a", "ab", "refund", "東京", "größe"):
        have = {index for index, words in turns.items() if words is None or word in words}
        lack = {
            index for index in range(TURNS_PER_BLOCK) if turns.get(index) is None or word not in (turns[index] or ())
        }
        begin = {i for i, words in turns.items() if words is None or any(w.startswith(word) for w in words)}
        assert having(stored, word) == sum(1 << index for index in have)
        assert having(stored, word, prefix=True) == sum(1 << index for index in begin) or word == "a"
        untouched = {index for index in range(TURNS_PER_BLOCK) if index not in turns}
        assert having(stored, word, excluded=True) == sum(1 << index for index in lack | untouched)
    unindexed = sum(1 << index for index, words in turns.items() if words is None)
    assert {unindexed_in(lines) for lines in stored.values()} <= {unindexed}
    assert not unindexed or len(stored) == BUCKETS_PER_BLOCK


def test_reading_a_turn_again_changes_only_the_buckets_of_what_changed() -> None:
    stored = put({}, {0: {"refund", "order"}, 1: {"refund"}})

    assert changed_buckets(stored, 1, {"refund": 1, "order": 1}, 0) == {}
    assert set(changed_buckets(stored, 1, {"refund": 1, "order": 1, "late": 1}, 0)) == {bucket_of("late")}


def test_words_that_all_fall_into_one_bucket_leave_it_short() -> None:
    many = {f"aa{number:08}" for number in range(100_000)}
    stored = put({}, {0: {"aardvark"}, 1: many, 2: {"aal"}})

    assert unindexed_in(stored[bucket_of("aa")]) == 1 << 1
    assert having(stored, "aardvark") == 0b011
    assert having(stored, "aal") == 0b110
    assert max(map(len, stored.values())) <= BUCKET_BYTES


def test_the_turns_with_most_words_are_left_out_of_a_full_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 3_000)
    turns = {index: {f"{word:x}{index:x}" for word in range(0, 4096, 8 if index == 5 else 400)} for index in range(8)}
    stored = put({}, {index: set(words) for index, words in turns.items()})

    unindexed = unindexed_in(stored[0])
    assert unindexed >> 5 & 1
    assert unindexed != 0xFF
    assert sum(map(len, stored.values())) <= 3_000 < BLOCK_BYTES
    assert having(put(stored, {5: {"refund"}}), "refund") == 1 << 5 | unindexed & ~(1 << 5)


def test_only_the_buckets_of_a_changed_turn_are_read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = put({}, {0: {f"{number:x}" for number in range(3_000)}, 1: {"refund", "order"}})
    read: list[bytes] = []

    def counted(bucket: bytes) -> Any:
        read.append(bucket)
        return lines(bucket)

    lines = blocks._lines
    monkeypatch.setattr(blocks, "_lines", counted)
    changed = put(stored, {1: {"refund", "late"}})

    assert len(read) == len({bucket_of("refund"), bucket_of("order"), bucket_of("late")})
    assert (having(changed, "late"), having(changed, "order"), having(changed, "ff")) == (0b10, 0, 1)


def test_a_full_block_is_read_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 30)
    turns = {index: {f"{word:x}x{index:x}" for word in range(1 << index)} for index in range(12)}
    attempts: list[int] = []

    def counted(*args: Any) -> Any:
        attempts.append(1)
        return merged(*args)

    merged = blocks._merged
    monkeypatch.setattr(blocks, "_merged", counted)
    stored = put({}, turns)

    assert len(attempts) == blocks.ATTEMPTS + 1
    assert unindexed_in(stored[0]) == (1 << 12) - 1


def test_a_block_of_an_earlier_release_that_is_too_long_can_be_changed() -> None:
    long = "".join(f"\naa{number:08} A" for number in range(100_000)).encode()
    stored = put({bucket_of("aa"): long}, {1: {"aal"}})

    assert unindexed_in(stored[bucket_of("aa")]) == 0b10
    assert having(put(stored, {0: set()}), "aa00000001") == 0b10


@pytest.mark.parametrize("word", ["aa{:06}", "{:06}aa"])
def test_twice_the_words_need_twice_the_steps(word: str) -> None:
    def prepare(count: int) -> object:
        words = {word.format(number): 1 + number % 2 for number in range(count)}
        stored = put({}, {index: set(words) for index in range(2)})
        return lambda: changed_buckets(stored, 1, words, 0)

    assert growth_of(prepare, 100) < 2.4  # type: ignore[arg-type]


@pytest.mark.parametrize("term", [Term(("aa",), prefix=True), Term(("aa000001",)), Term(("aa",), excluded=True)])
def test_twice_the_lines_need_twice_the_steps_of_a_search(term: Term) -> None:
    def prepare(count: int) -> object:
        lines = "".join(f"\naa{number:06} AB" for number in range(count)).encode()
        return lambda: turns_with(term, lines)

    assert growth_of(prepare, 100) < 2.4  # type: ignore[arg-type]
    assert turns_with(term, b"") == (ALL_TURNS if term.excluded else 0)
