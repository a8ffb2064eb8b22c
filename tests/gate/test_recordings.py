"""The exports of real SDKs give turns with every call, whether tools have spans or not."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from app.otlp.decode import decode
from app.otlp.span import Span
from app.sessions.build import build_session
from app.sessions.types import Step, Turn
from tests.gate.conversations import CONVERSATIONS, Call
from tests.gate.conversations import Turn as Said

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.json"))
WITHOUT_TOOL_SPANS = ("openinference", "openllmetry")


def turns_of(path: Path) -> tuple[Turn, ...]:
    traces: dict[bytes, list[Span]] = defaultdict(list)
    for span in decode(path.read_bytes()).spans:
        traces[span.trace_id].append(span)
    return build_session(traces.values())


def told(call: Call) -> object:
    return f"Error: {call.error}" if call.error else call.result


def as_called(step: Step) -> tuple[str, object, object]:
    return step.name, step.arguments, step.error or step.result


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_holds_all_words_and_calls(path: Path) -> None:
    name, _, recorder = path.stem.partition(".")

    turns = turns_of(path)

    assert [turn.user for turn in turns] == [said.user for said in CONVERSATIONS[name].turns]
    for turn, said in zip(turns, CONVERSATIONS[name].turns, strict=True):
        *calls, answer = turn.steps
        assert answer.text == said.answer
        assert sorted(map(repr, map(as_called, calls))) == sorted(repr(expected(call)) for call in calls_of(said))
        assert {step.source for step in calls} <= {"messages" if recorder in WITHOUT_TOOL_SPANS else "span"}
        assert all(step.answered for step in calls)
        assert len({step.batch for step in calls}) == len(said.rounds)


def calls_of(said: Said) -> list[Call]:
    return [call for calls in said.rounds for call in calls]


def expected(call: Call) -> tuple[str, object, object]:
    return call.name, call.arguments, told(call)


def test_there_are_recordings_of_each_conversation() -> None:
    assert {path.stem.partition(".")[0] for path in RECORDINGS} == set(CONVERSATIONS)
