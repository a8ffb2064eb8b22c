"""The features of conversations, and what they count."""

from __future__ import annotations

from typing import Literal

import pytest

from app.suites.features import Feature, ScoredFingerprint, Vocabulary, given_by, needs_of
from app.suites.fingerprints import CalledTool, Fingerprint, make


def effect_of(tool: str) -> Literal["read", "write"]:
    return "write" if tool == "cancel" else "read"


def fingerprint(*tools: str, text: str = "", failed: str = "") -> Fingerprint:
    return make(turns=1, calls=[CalledTool(tool, "", tool == failed) for tool in tools], texts=[text])


def test_the_shares_of_a_conversation_add_up_to_1() -> None:
    needs = needs_of(
        ScoredFingerprint(fingerprint("search", "cancel", failed="cancel"), True), Vocabulary({}), effect_of
    )
    assert sum(needs.values()) == pytest.approx(1)
    assert needs[Feature("tool", "search")] == needs[Feature("tool", "cancel")]
    assert {Feature("effect", "write"), Feature("score"), Feature("pair", "search → cancel")} <= needs.keys()


def test_a_conversation_gives_what_it_needs() -> None:
    prints = [fingerprint("search", text="a damaged parcel"), fingerprint(text="damaged parcel"), fingerprint()]
    vocabulary = Vocabulary.of(prints * 2)
    for made in prints:
        conversation = ScoredFingerprint(made)
        assert needs_of(conversation, vocabulary, effect_of).keys() <= given_by(conversation, vocabulary, effect_of)


def test_words_of_one_session_and_of_most_sessions_are_no_topics() -> None:
    prints = [fingerprint(text="hello parcel"), fingerprint(text="hello parcel"), fingerprint(text="hello unicorn")]
    prints += [fingerprint(text="hello")] * 3
    assert set(Vocabulary.of(prints).weights) == {"parcel"}


def test_a_corrected_test_guards_against_what_went_wrong() -> None:
    conversation = ScoredFingerprint(fingerprint("search"))
    wrong = {Feature("error"), Feature("score"), Feature("failed_tool", "search")}
    assert wrong <= given_by(conversation, Vocabulary({}), effect_of, corrected=True)
    assert not wrong & given_by(conversation, Vocabulary({}), effect_of)
