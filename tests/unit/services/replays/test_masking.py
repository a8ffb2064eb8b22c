"""The messages of a replay's violations are masked within a budget of comparisons."""

from __future__ import annotations

from typing import Any

import pytest

from app.experiments.behaviour import EDITION, Behaviour
from app.otlp.masking import MASK, Masking, Rule
from app.replay.result_types import Difference
from app.replay.wording import differing
from app.services.masking.rules import MessageMasking
from app.services.replays import masking
from app.services.replays.masking import masked_replay

SECRET = Rule("pointer", "/gen_ai.tool.call.arguments/card")


def differing_replay(count: int) -> dict[str, Any]:
    """Return a replay of as many calls with a secret, each with a violation that repeats how it differs."""
    steps, violations = [], []
    for number in range(count):
        produced, recorded = {"card": f"secret{number}"}, {"card": f"secret{number + count}"}
        difference = {"path": "/card", "expected": recorded["card"], "actual": produced["card"]}
        step = {"kind": "tool_call", "expected": {"name": "pay", "arguments": recorded}, "diff": [difference]}
        steps.append(step | {"actual": {"name": "pay", "arguments": produced}, "reason": "arguments differ"})
        message = f"It differs from the recorded call: {differing([Difference(**difference)])}. Change the draft."
        violations.append(
            {"kind": "unanswered_write", "tool": "pay", "turn": 0, "arguments": produced, "message": message}
        )
    nothing = {"drift": {}, "error": None}
    turn = nothing | {"user": "?", "steps": steps, "extra": [], "violations": [], "calls": [["pay"]]}
    result = nothing | {"turns": [turn], "violations": violations, "void": None, "fidelity": {}}
    return {"error": None, "result": result, "violations": violations}


def messages(count: int) -> list[str]:
    kept = masked_replay(differing_replay(count), MessageMasking(Masking([SECRET])))
    return [violation["message"] for violation in kept["violations"]]


def test_a_message_repeats_a_difference_with_masked_values() -> None:
    assert set(messages(3)) == {
        f'It differs from the recorded call: card is "{MASK}", recorded was "{MASK}". Change the draft.'
    }


def test_names_of_tools_are_masked_in_calls_and_in_the_fingerprint() -> None:
    replay = differing_replay(1) | {"behaviour": Behaviour(EDITION, 9, (("pay", 2),), ("ask", "pay"), "en")}
    kept = masked_replay(replay, MessageMasking(Masking([Rule("pattern", "pay")])))
    assert kept["behaviour"] == Behaviour(EDITION, 9, ((MASK, 2),), ("ask", MASK), "en")
    assert kept["result"]["turns"][0]["calls"] == [[MASK]]


def test_messages_beyond_the_comparisons_of_a_replay_are_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "COMPARED_MAX", 200)
    masked = messages(40)
    assert [message == MASK for message in masked] == [False] * 5 + [True] * 35
    assert not any("secret" in message for message in masked)
