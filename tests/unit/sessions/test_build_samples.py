"""Exports of real SDKs give exactly the sessions that their expectations state."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.otlp.decode import decode
from app.otlp.span import Span
from app.schemas import traces as schemas
from app.schemas.answer import dump
from app.services.sessions.service import Session
from app.sessions.build import build_session
from app.sessions.types import Turn
from tests.support.steps import without_measures

SAMPLES = Path(__file__).parents[2] / "data" / "otlp"
EXPECTED: dict[str, Any] = json.loads((SAMPLES / "expected.json").read_text())


def stored(run: str) -> list[Span]:
    """The spans of all requests of a run, each identity once."""
    spans: dict[tuple[bytes, bytes], Span] = {}
    for request in EXPECTED[run]["requests"]:
        decoded = decode((SAMPLES / request["file"]).read_bytes())
        assert str(len(decoded.rejected)) in request["rejectedSpans"]
        for span in decoded.spans:
            spans.setdefault((span.trace_id, span.span_id), span)
    return list(spans.values())


def session_of(spans: list[Span]) -> tuple[Turn, ...]:
    traces: dict[bytes, list[Span]] = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    return build_session(traces.values())


def as_expected(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn with just what the expectations state: no error is no key, an error's text is `true`."""
    steps = []
    for step in map(without_measures, turn["steps"]):
        if (error := step.pop("error", None)) is not None:
            step["error"] = bool(error)
        steps.append(step)
    stated = ("traceId", "user", "placeholders", "offeredTools", "promptVersion")
    return {key: turn[key] for key in stated} | {"steps": steps, "spans": len(turn["spans"])}


@pytest.mark.parametrize("run", EXPECTED)
def test_a_run_gives_the_session_it_is_expected_to_give(run: str) -> None:
    spans = stored(run)

    (expected,) = EXPECTED[run]["sessions"]
    turns = session_of(spans)
    session = orjson.loads(
        orjson.dumps(dump(schemas.SessionSchema, Session("s", 4242, turns[0].conversation_id, turns)))
    )

    assert session["conversationId"] == expected["conversationId"]
    assert [as_expected(turn) for turn in session["turns"]] == expected["turns"]


@pytest.mark.parametrize("run", EXPECTED)
def test_the_order_of_arrival_changes_nothing(run: str) -> None:
    spans = stored(run)
    session = session_of(spans)

    for seed in range(5):
        random.Random(seed).shuffle(spans)
        assert session_of(spans) == session
