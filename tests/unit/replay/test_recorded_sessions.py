"""Sessions that real SDKs exported become test cases which their own recording passes."""

from __future__ import annotations

import json

import pytest

from app.chat import ToolDefinition
from app.replay.cases import case_from_turns, load_case
from app.replay.documents import dump
from app.replay.engine import replay
from tests.unit.replay.fakes import FakeModel, Parrot, ports
from tests.unit.sessions.test_build_samples import EXPECTED, session_of, stored


@pytest.mark.parametrize("run", EXPECTED)
def test_a_recorded_session_passes_when_it_is_repeated(run: str) -> None:
    case = case_from_turns(session_of(stored(run)), "STRICT", [ToolDefinition("any")])

    result = replay(case, ports(FakeModel(Parrot(case, at_once=True))))

    if is_cut := ".truncated" in run:
        assert case.fidelity
        assert {gap.kind for gap in case.fidelity.missing} == {"cut"}
    unplayable = any(not turn.user for turn in case.turns)
    assert result.status == ("void" if is_cut else "failed" if unplayable else "passed")
    assert (result.stop_reason == "no_user_text") == (unplayable and not is_cut)


@pytest.mark.parametrize("run", EXPECTED)
def test_a_case_of_a_recorded_session_survives_a_file(run: str) -> None:
    case = case_from_turns(session_of(stored(run)), "AI")

    assert load_case(json.loads(json.dumps(dump(case)))) == case
