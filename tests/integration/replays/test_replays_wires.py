"""Replays and their judges over the format of every vendor, whole and streamed, as a server may answer in either."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.fakes.judging import judged
from tests.fakes.models import MODELS
from tests.fakes.upstream import Recorded, Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import run, verdict
from tests.integration.replays.recording import HOT, THANKS, TOOLS, make_case, prompt, record, replayed
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedTurn
from tests.support.own_models import add_own_model
from tests.support.world import World

pytestmark = SQLITE_CONTAINER

ONLY_WHOLE = pytest.mark.parametrize("form", ["whole"])
AZURE = "openai/deployments/answers?api-version=2024-10-21"
# The name of each format's model, and a part of the path that it is called at.
WIRES = {
    "chat completions": (MODELS["OPENAI"], "/chat/completions"),
    "responses": ("gpt-5.5", "/responses"),
    "messages": (MODELS["ANTHROPIC"], "/v1/messages"),
    "generateContent": ("gemini-3.8-flash", ":generateContent"),
    "DeepSeek": (MODELS["DEEPSEEK"], "/deepseek/chat/completions"),
    "compatible": ("llama3", "/custom/v1/chat/completions"),
    "Azure": ("answers", "/custom/v1/openai/deployments/answers/chat/completions?api-version=2024-10-21"),
}
ASKS = Reply(tool_calls=[("weather", {"city": "Rome"})])
HOT_TEXT = Reply(text="It is 31 °C in Rome.")
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
JSON = '{"city": "Rome", "degrees": 31}'


@dataclass(frozen=True)
class Playing:
    """A project with prompts on the model of one format, which answers in one form."""

    world: World
    upstream: Upstream
    model: str
    path: str
    streamed: bool

    def case(self, turn: RecordedTurn, **config: Any) -> dict[str, Any]:
        """Make a test case of a turn, of a prompt with two tools and this configuration."""
        prompt_id = prompt(self.world, self.model, languageModelConfig={"tools": TOOLS, **config})
        return make_case(self.world, record(self.world, prompt_id, [turn]))

    def script(self, *replies: Reply) -> None:
        self.upstream.script(*(replace(reply, streamed=self.streamed and reply.status == 200) for reply in replies))

    def replay(self, case: dict[str, Any], *replies: Reply, **body: Any) -> dict[str, Any]:
        """Replay a test case with these answers. Each of them must have been asked for at the format's path.

        A judge of OpenAI's has no tools, so it is asked by chat completions.
        """
        self.script(*replies)
        replay = replayed(self.world, case["id"], **body)
        paths = (self.path, "/chat/completions") if self.path == "/responses" else (self.path,)
        asked = [any(path in request.path for path in paths) for request in self.requests]
        assert asked == [True] * len(replies)
        return replay

    @property
    def requests(self) -> list[Recorded]:
        return self.upstream.requests


@pytest.fixture(params=["whole", "streamed"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=WIRES)
def playing(request: pytest.FixtureRequest, world: World, upstream: Upstream, form: str) -> Playing:
    model, path = WIRES[request.param]
    own = {"compatible": "", "Azure": f"/{AZURE}"}
    if request.param in own:
        add_own_model(world, model, upstream.base_url("CUSTOM_OPENAI_COMPATIBLE") + own[request.param])
    return Playing(world, upstream, model, path, form == "streamed")


def steps_of(replay: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for turn in replay["turns"] for step in turn["steps"]]


def outcome(replay: dict[str, Any]) -> tuple[str, list[str]]:
    return replay["status"], [step["result"] for step in steps_of(replay)]


def test_a_call_gets_its_recorded_result_and_the_answer_passes(playing: Playing) -> None:
    replay = playing.replay(playing.case(HOT), ASKS, HOT_TEXT)

    assert outcome(replay) == ("passed", ["passed", "passed"])
    assert "degrees" not in json.dumps(playing.requests[0].body["tools"])
    assert "degrees" in json.dumps(playing.requests[1].body)
    assert replay["tokens"]["prompt"] > 0
    assert replay["tokens"]["completion"] > 0
    assert replay["cost"]["total"] > 0


@pytest.mark.parametrize(
    "asked",
    [
        [("weather", {"city": "Oslo"})],
        [("weather", {"city": "Rome"}), ("book", {"hotel": "Hassler"})],
        [("weather", '{"city": "Ro')],
    ],
    ids=["another argument", "one more call", "broken arguments"],
)
def test_another_call_than_was_recorded_fails(playing: Playing, asked: list[tuple[str, Any]]) -> None:
    if playing.path in ("/v1/messages", ":generateContent"):  # which have objects as arguments
        asked = [
            (name, {"city": {"Ro": None}} if isinstance(arguments, str) else arguments) for name, arguments in asked
        ]
    playing.script(Reply(tool_calls=asked), HOT_TEXT, HOT_TEXT)

    replay = replayed(playing.world, playing.case(HOT)["id"], judge="never")

    assert replay["status"] == "failed"
    assert steps_of(replay)[0]["result"] == "failed" or replay["violations"]


@ONLY_WHOLE
@pytest.mark.parametrize(
    ("text", "result"),
    [
        (JSON, "passed"),
        (f"```json\n{JSON}\n```", "failed"),
        ('{"city": "Rome", "degrees": "31"}', "failed"),
    ],
)
def test_an_answer_must_keep_to_its_schema(playing: Playing, text: str, result: str) -> None:
    turn = RecordedTurn("How hot is Rome?", JSON, HOT.calls)
    case = playing.case(turn, response_format="json_schema", json_schema=SCHEMA)

    replay = playing.replay(case, ASKS, Reply(text=text), judge="never")

    assert outcome(replay) == (result, ["passed", result])
    assert "degrees" in json.dumps(playing.requests[0].body)  # the schema, in the form of the vendor


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(refusal="I can't help with that."), "NOK: "),
        (Reply(text="It is 31 °C in Ro", truncated=True), "NOK: "),
        (Reply(text=""), "NOK: "),
    ],
    ids=["refused", "cut off", "empty"],
)
def test_an_answer_that_can_not_be_used_fails_and_is_no_error(playing: Playing, reply: Reply, reason: str) -> None:
    replay = playing.replay(playing.case(HOT), ASKS, reply)

    assert outcome(replay) == ("failed", ["passed", "failed"])
    assert steps_of(replay)[1]["reason"].startswith(reason)


@ONLY_WHOLE
@pytest.mark.parametrize(
    "later",
    [
        Reply(status=429, message="Too many requests", headers={"retry-after": "0"}),
        Reply(status=500, message="Something broke"),
    ],
    ids=["429", "500"],
)
def test_a_vendor_that_asks_for_a_later_try_gets_it_and_the_replay_passes(playing: Playing, later: Reply) -> None:
    replay = playing.replay(playing.case(HOT), later, ASKS, later, HOT_TEXT)

    assert outcome(replay) == ("passed", ["passed", "passed"])


@ONLY_WHOLE
def test_a_vendor_that_refuses_the_request_makes_an_error_in_its_words(playing: Playing) -> None:
    replay = playing.replay(playing.case(HOT), Reply(status=400, message="The prompt is too long"))

    assert replay["status"] == "error"
    assert "The prompt is too long" in replay["error"]


@pytest.mark.parametrize(("decision", "status"), [("passed", "passed"), ("failed", "failed")])
def test_a_judge_of_the_same_format_decides_about_other_words(playing: Playing, decision: str, status: str) -> None:
    replay = playing.replay(playing.case(THANKS), Reply(text="My pleasure."), judged(decision))

    assert (replay["status"], steps_of(replay)[0]["decidedBy"]) == (status, "judge")
    assert 0 < replay["judgeTokens"]["total"] < replay["tokens"]["total"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(refusal="I can't judge."),
        Reply(text=""),
        Reply(tool_calls=[("weather", {"city": "Rome"})]),
    ],
    ids=["refused", "empty", "a call"],
)
def test_a_judge_without_a_verdict_leaves_other_words_to_a_person(playing: Playing, reply: Reply) -> None:
    replay = playing.replay(playing.case(THANKS), Reply(text="My pleasure."), reply)

    assert (replay["status"], steps_of(replay)[0]["decidedBy"]) == ("needs_review", None)


@ONLY_WHOLE
def test_a_judge_is_waited_for(playing: Playing) -> None:
    later = Reply(status=429, message="Too many requests", headers={"retry-after": "0"})
    replay = playing.replay(playing.case(THANKS), Reply(text="My pleasure."), later, judged("passed"))

    assert (replay["status"], steps_of(replay)[0]["decidedBy"]) == ("passed", "judge")


@ONLY_WHOLE
def test_a_gate_of_drafts_that_give_empty_answers_fails(playing: Playing) -> None:
    case = playing.case(HOT)
    playing.upstream.choose = lambda body: replace(
        Reply(text="") if "degrees" in json.dumps(body) else ASKS, streamed=playing.streamed
    )

    found = run(playing.world, case["promptId"], baseline=None, minPassRate=1, judge="never")

    assert verdict(found) == ("finished", "failed")


def test_thoughts_in_the_text_of_a_local_model_are_neither_compared_nor_judged(
    world: World, upstream: Upstream, form: str
) -> None:
    add_own_model(world, "llama3", upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"))
    playing = Playing(world, upstream, "llama3", "/custom/v1/chat/completions", form == "streamed")
    thoughts = "<think>\nOslo had 12 °C; I mean `</think>`.\n</think>\n\n"
    case = playing.case(replace(HOT, answer=thoughts + HOT.answer))
    asks = replace(ASKS, text=thoughts)

    replay = playing.replay(case, asks, replace(HOT_TEXT, text=thoughts + HOT.answer))

    assert outcome(replay) == ("passed", ["passed", "passed"])
    assert "Oslo" not in json.dumps(steps_of(replay))
    assert "Oslo" not in json.dumps(playing.requests[1].body)

    upstream.requests.clear()
    judgement = replace(judged("passed"), text=f"{thoughts}{judged('passed').text}")
    replay = playing.replay(playing.case(THANKS), Reply(text=f"{thoughts}My pleasure."), judgement)
    assert (replay["status"], steps_of(replay)[0]["decidedBy"]) == ("passed", "judge")
    assert "Oslo" not in json.dumps(playing.requests[1].body)
