"""A judge on each vendor's wire, over real HTTP: held to its schema where the vendor can do that."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from app.chat import Tokens
from app.errors import ProviderError
from app.models.language_models import LanguageModel
from app.providers.router import Providers
from app.providers.types import Credential
from app.replay.judge_types import JudgedTurn, OpenStep, StepJudgement
from app.replay.rubric import SCHEMA
from app.services.replays.budget import Unlimited
from app.services.replays.ports import MeteredModel
from tests.fakes.models import KEY, MODELS
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FINDING = {"kind": "contradicts", "recorded": "5", "produced": "6", "matters": True, "why": "The price differs."}
FAILED = json.dumps({"steps": [{"step": 3, "findings": [FINDING], "verdict": "failed"}]})
TURN = JudgedTurn("Be brief.", (), "What is the price?", (), (OpenStep(3, "answer", None, "5 EUR", "6 EUR"),))


class Keys(NamedTuple):
    """Credentials with one key for the fake upstream."""

    base_url: str

    def find(self, organization_id: int, vendor: str, *, base_url: str) -> Credential:
        return Credential(KEY, self.base_url)


class Counted:
    def __init__(self) -> None:
        self.tokens = Tokens()

    def add(self, model: LanguageModel, tokens: Tokens) -> None:
        self.tokens += tokens


class Asking(NamedTuple):
    """A judge of one vendor, and the tokens that it has used."""

    upstream: Upstream
    vendor: str
    providers: Providers
    counted: Counted
    reported: list[str]

    def judge(self) -> StepJudgement:
        language_model = LanguageModel(
            1, 0, self.vendor, MODELS[self.vendor], "", 1.0, 1.0, 100_000, 8_000, "", {}, False, NOW, NOW
        )
        keys: Any = Keys(self.upstream.base_url(self.vendor))
        model = MeteredModel(
            language_model,
            {"temperature": 0},
            self.providers,
            keys,
            self.counted,
            Unlimited(),
            60.0,
            0,
            self.reported.append,
        )
        (judgement,) = model.as_judge().judge_turn(TURN).steps
        return judgement


@pytest.fixture
def asking(upstream: Upstream, vendor: str, providers: Providers) -> Asking:
    return Asking(upstream, vendor, providers, Counted(), [])


def schema_of(body: dict[str, Any]) -> Any:
    """Return the JSON Schema that a request holds the model to."""
    if "generationConfig" in body:
        return body["generationConfig"].get("responseJsonSchema")
    if "output_config" in body:
        return body["output_config"]["format"]["schema"]
    return body.get("response_format", {}).get("json_schema", {}).get("schema")


def test_the_judge_is_held_to_its_schema_by_each_vendor_that_has_one(asking: Asking) -> None:
    asking.upstream.script(Reply(text=FAILED))

    assert asking.judge().verdict == "failed"
    body = asking.upstream.requests[-1].body
    if asking.vendor == "DEEPSEEK":
        assert body["response_format"] == {"type": "json_object"}
        assert json.dumps(SCHEMA) in body["messages"][0]["content"]
    else:
        assert schema_of(body) == SCHEMA
    if asking.vendor in {"OPENAI", "CUSTOM_OPENAI_COMPATIBLE"}:
        assert body["response_format"]["json_schema"]["strict"] is True


def test_the_model_that_each_vendor_reports_is_known(asking: Asking) -> None:
    asking.upstream.script(Reply(text=FAILED))

    asking.judge()

    assert asking.reported == [MODELS[asking.vendor]]


@pytest.mark.parametrize("status", [400, 422])
def test_a_vendor_that_refuses_the_schema_is_asked_without_it(asking: Asking, status: int) -> None:
    asking.upstream.script(Reply(status=status, message="response_format is not supported"), Reply(text=FAILED))

    assert asking.judge().reason == "The price differs."
    assert len(asking.upstream.requests) == 2
    body = asking.upstream.requests[-1].body
    assert schema_of(body) is None
    assert "response_format" not in body


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_that_is_refused_is_no_reason_to_ask_again(asking: Asking, status: int) -> None:
    asking.upstream.script(Reply(status=status, message="No."))

    with pytest.raises(ProviderError, match=MODELS[asking.vendor]):
        asking.judge()
    assert len(asking.upstream.requests) == 1


def test_a_request_that_is_refused_without_a_schema_too_is_a_failure(asking: Asking) -> None:
    asking.upstream.script(Reply(status=400, message="Too long."), Reply(status=400, message="Too long."))

    with pytest.raises(ProviderError, match="Too long"):
        asking.judge()
    assert len(asking.upstream.requests) == 2


def test_a_server_that_ignores_the_schema_may_fence_its_json(asking: Asking) -> None:
    asking.upstream.script(Reply(text=f"```json\n{FAILED}\n```"))

    assert asking.judge().verdict == "failed"


def test_a_reply_that_is_cut_off_needs_review(asking: Asking) -> None:
    asking.upstream.script(Reply(text=FAILED, truncated=True))

    judgement = asking.judge()

    assert (judgement.verdict, "cut off" in judgement.reason) == ("needs_review", True)


def test_a_judge_that_refuses_needs_review(asking: Asking) -> None:
    asking.upstream.script(Reply(refusal="I can't judge that."))

    judgement = asking.judge()

    assert judgement.verdict == "needs_review"
    assert asking.counted.tokens.total > 0


def test_thoughts_in_the_text_of_a_judge_are_no_part_of_its_reply(asking: Asking) -> None:
    asking.upstream.script(Reply(text=f"<think>\n{{5 or 6?\n</think>\n\n{FAILED}"))

    verdict = asking.judge().verdict
    assert verdict == ("failed" if asking.vendor == "CUSTOM_OPENAI_COMPATIBLE" else "needs_review")
