from __future__ import annotations

import pytest

from app.chat import ToolCall
from app.errors import ProviderError
from app.replay.case_types import CheckedCall
from app.replay.judge import ModelJudge
from tests.unit.replay.fakes import FakeModel, says


def test_a_tool_is_played_from_its_recorded_calls() -> None:
    model = FakeModel(lambda n, messages: says('```json\n{"stock": 3}\n```'))
    examples = [CheckedCall(name="get_stock", arguments={"sku": "A"}, result={"stock": 5})]

    played = ModelJudge(model, lambda: "n" * 16, "gpt").simulate(
        ToolCall("", "get_stock", {"sku": "B"}), None, examples
    )

    assert played.result == {"stock": 3}
    assert '"stock": 5' in model.asked[0][1][0].text
    assert '{"sku": "B"}' in model.asked[0][1][0].text


def test_a_tool_is_not_played_if_its_call_holds_every_nonce() -> None:
    judge = ModelJudge(FakeModel(lambda n, messages: says("1")), lambda: "guess", "gpt")

    with pytest.raises(ProviderError, match="could not be played"):
        judge.simulate(ToolCall("", "get_stock", {"sku": "guess"}), None, [])
