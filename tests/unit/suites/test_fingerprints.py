"""Fingerprints of calls and texts."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.otlp.decode import decode
from app.otlp.masking import MASK
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts
from app.suites.fingerprints import (
    TEXTS_MAX,
    TOOLS_MAX,
    WORDS_MAX,
    CalledTool,
    dump,
    load,
    make,
    of_facts,
    of_turns,
    turns_class,
)
from tests.support.exports import export
from tests.unit.sessions.test_later_questions import CONVERSATION

CALLS = st.lists(st.builds(CalledTool, st.sampled_from("abcdef"), st.sampled_from(["", "1", "2"]), st.booleans()))


def test_tools_are_in_the_order_of_their_first_calls() -> None:
    calls = [CalledTool("search", "", False), CalledTool("cancel", "", False), CalledTool("search", "", True)]
    fingerprint = make(turns=2, calls=calls, texts=[])
    assert (fingerprint.order, fingerprint.failed_tools) == (("search", "cancel"), ("search",))


def test_calls_of_one_batch_have_no_order() -> None:
    one_way = [CalledTool("b", "1", False), CalledTool("a", "1", False), CalledTool("c", "2", False)]
    other_way = [one_way[1], one_way[0], one_way[2]]
    assert dump(make(turns=1, calls=one_way, texts=[])) == dump(make(turns=1, calls=other_way, texts=[]))
    assert make(turns=1, calls=one_way, texts=[]).order == ("a, b", "c")


@given(CALLS, st.lists(st.text(max_size=30), max_size=4))
def test_a_fingerprint_is_read_as_it_was_written(calls: list[CalledTool], texts: list[str]) -> None:
    fingerprint = make(turns=1, calls=calls, texts=texts)
    assert load(dump(fingerprint)) == fingerprint
    assert dump(load(dump(fingerprint))) == dump(fingerprint)


@given(st.lists(st.text(max_size=40), max_size=5))
def test_the_order_of_texts_does_not_matter(texts: list[str]) -> None:
    assert dump(make(turns=1, calls=[], texts=texts)) == dump(make(turns=1, calls=[], texts=texts[::-1]))


def test_words_are_neither_frequent_ones_nor_numbers_nor_masked_texts() -> None:
    fingerprint = make(turns=1, calls=[], texts=[f"Where is my Refund for order 10042, A7? {MASK}"])
    assert fingerprint.words == ("order", "refund")


def test_words_and_tools_are_bounded() -> None:
    words = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300))
    fingerprint = make(turns=1, calls=[CalledTool(f"tool{n}", "", False) for n in range(300)], texts=[words])
    assert (len(fingerprint.words), len(fingerprint.tools), len(fingerprint.order)) == (WORDS_MAX, TOOLS_MAX, TOOLS_MAX)


def test_the_order_of_texts_does_not_matter_if_they_are_too_long_to_be_read_whole() -> None:
    texts = [f"{topic} " * (TEXTS_MAX // 8) for topic in ("parcel", "refund", "unicorn", "voucher", "delivery")] * 3
    texts += [f"{'filler ' * (TEXTS_MAX // 8)} unread", "short"]
    fingerprint = make(turns=8, calls=[], texts=texts)
    assert fingerprint == make(turns=8, calls=[], texts=texts[::-1])
    assert {"delivery", "parcel", "refund", "short", "unicorn", "voucher"} < set(fingerprint.words)
    assert "unread" not in fingerprint.words


@pytest.mark.slow
@pytest.mark.parametrize("text", ["漢", "\u337f"], ids=["Chinese", "characters that are four when they are folded"])
def test_the_words_of_a_long_conversation_need_bounded_memory(text: str) -> None:
    """60 messages of 20,000 different pairs of characters once needed 200 MiB, and 7 seconds."""
    draw, signs = Random(1), [chr(sign) for sign in range(0x4E00, 0x9FFF)]
    signs += [text] * (len(signs) // 4)
    texts = ["".join(draw.choices(signs, k=20_000)) for _ in range(60)]
    tracemalloc.start()
    try:
        fingerprint = make(turns=60, calls=[], texts=texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (fingerprint.language, len(fingerprint.words)) == ("zh", WORDS_MAX)
    assert peak < 40 * 1024 * 1024


@pytest.mark.parametrize(("turns", "expected"), [(0, "1"), (1, "1"), (3, "2-3"), (4, "4-7"), (8, "8+"), (900, "8+")])
def test_turns_have_classes(turns: int, expected: str) -> None:
    assert turns_class(turns) == expected


def test_a_long_session_has_the_tools_of_its_facts_without_their_order() -> None:
    facts = [TurnFacts(0, 1, 2, tools=frozenset("ba"), failed_tools=frozenset("b"), errors=1)] * 4
    fingerprint = of_facts(facts)
    assert (fingerprint.tools, fingerprint.order, fingerprint.failed_tools) == (("a", "b"), (), ("b",))
    assert (fingerprint.turns, fingerprint.has_error, fingerprint.lacks) == ("4-7", True, ("size",))


def test_a_conversation_in_one_trace_has_the_turns_that_its_session_shows() -> None:
    spans = decode(export(*CONVERSATION)).spans

    assert of_turns(build_session([spans]), [TurnFacts.of(spans)]).turns == turns_class(3)
    assert turns_class(3) != turns_class(1)
