"""The test cases that Reprise makes of the recorded conversations and of conversations that are built as spans here."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

from app.otlp.decode import decode
from app.otlp.span import Span
from app.replay.case_types import TestCase
from app.replay.cases import case_from_turns
from app.sessions.build import build_session
from tests.gate.built import BUILT, exported

RECORDINGS = Path(__file__).parent / "recordings"


@cache
def cases() -> dict[str, TestCase]:
    """Test cases by `conversation.how it was recorded`."""
    recorded = {path.stem: path.read_bytes() for path in sorted(RECORDINGS.glob("*.json"))}
    for name, conversation in BUILT.items():
        recorded[f"{name}.spans"] = exported(conversation, tool_spans=True)
        recorded[f"{name}.messages"] = exported(conversation, tool_spans=False)
    return {name: case_of(body) for name, body in recorded.items()}


def case_of(body: bytes) -> TestCase:
    traces: dict[bytes, list[Span]] = defaultdict(list)
    for span in decode(body).spans:
        traces[span.trace_id].append(span)
    return case_from_turns(build_session(traces.values()), "STRICT")
