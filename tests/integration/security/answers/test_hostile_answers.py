"""A run or a replay ends by itself on any answer of a vendor, as an answer or as a failure that anybody can read."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.work.table import WorkTable
from tests.fakes import hostile
from tests.fakes.judging import finding, judged
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.replays.recording import HOT, THANKS, finished, make_case, replayed
from tests.integration.replays.recording import prompt as prompt_with_tools
from tests.integration.replays.recording import record as record_session
from tests.integration.runs.asking import record, run
from tests.integration.runs.test_runs_streaming import events, stream
from tests.support.backends import SQLITE_CONTAINER
from tests.support.waiting import wait_until

WIRES = ("OPENAI", "ANTHROPIC", "GOOGLE")
# Reading a vendor's format is the same in front of each database: one vendor's answers go to both.
ON_EACH_DATABASE = [("sqlite", vendor) for vendor in WIRES] + [
    pytest.param("services", "OPENAI", marks=pytest.mark.services)
]
each_vendor = pytest.mark.parametrize(("container", "vendor"), ON_EACH_DATABASE, indirect=["container"])
EXAMPLES = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
HUGE = 2**64


def called_with(world, upstream, arguments, vendor="OPENAI"):
    """Make a run with a model that calls a tool with these arguments, and return the answer."""
    upstream.script(Reply(raw=hostile.with_arguments(vendor, arguments, stream=False)))
    return run(world, prompt_with_tools(world, MODELS[vendor]))


def shown(world, browser, run_id):
    """The run, which can be read by itself."""
    kept = world.get(f"/api/v1/runs/{run_id}")
    assert kept.status_code == 200, kept.text
    assert kept.json["status"] in ("done", "failed")
    assert browser.open(f"{browser.base}/runs/{run_id}").status_code == 200
    return kept.json


def check_lists(world, browser, prompt_id):
    """All runs of the prompt can be read together."""
    for path in (f"/api/v1/prompts/{prompt_id}/logs?limit=100", f"/api/v1/prompts/{prompt_id}/exports/runs"):
        assert world.get(path).status_code == 200
    assert browser.open(f"{browser.base}/prompts/{prompt_id}/logs").status_code == 200


@each_vendor
def test_any_whole_answer_ends_a_run_that_can_be_read(world, browser, upstream, vendor):
    prompt_id = prompt_with_tools(world, MODELS[vendor])

    @EXAMPLES
    @given(hostile.bodies(vendor, stream=False))
    def ends(raw):
        upstream.reset()
        upstream.script(Reply(raw=raw))
        answer = run(world, prompt_id)
        assert answer.status_code in (200, 502), answer.text
        found = shown(world, browser, answer.headers["X-Run-Id"])
        assert found["status"] == ("done" if answer.status_code == 200 else "failed")
        assert (found["error"] or {}).get("kind") in (None, "provider")

    ends()
    check_lists(world, browser, prompt_id)


@each_vendor
def test_any_stream_ends_a_run_that_can_be_read(world, browser, upstream, vendor):
    prompt_id = prompt_with_tools(world, MODELS[vendor])

    @EXAMPLES
    @given(hostile.bodies(vendor, stream=True))
    def ends(raw):
        upstream.reset()
        upstream.script(Reply(raw=raw))
        answer = stream(world, prompt_id)
        kind, _, data = events(answer)[-1]
        assert kind == "done" or (kind, data["status"]) == ("error", 502), data
        shown(world, browser, answer.headers["X-Run-Id"])

    ends()
    check_lists(world, browser, prompt_id)


@each_vendor
def test_any_answer_ends_a_replay_that_can_be_read(world, browser, upstream, vendor):
    prompt_id = prompt_with_tools(world, MODELS[vendor])
    case_id = make_case(world, record_session(world, prompt_id, [HOT, THANKS]))["id"]

    @EXAMPLES
    @given(st.lists(hostile.bodies(vendor, stream=False), min_size=1, max_size=3))
    def ends(raws):
        upstream.reset()
        upstream.script(*(Reply(raw=raw) for raw in raws))
        replay = replayed(world, case_id)
        assert replay["status"] in ("passed", "failed", "error", "needs_review")
        assert "interrupted" not in (replay["error"] or "")
        assert browser.open(f"{browser.base}/replays/{replay['id']}").status_code == 200

    ends()
    assert world.get(f"/api/v1/prompts/{prompt_id}/replays").status_code == 200


@pytest.mark.parametrize("name", hostile.TEXTS)
@each_vendor
def test_no_arguments_of_a_tool_call_lose_a_run(world, browser, upstream, vendor, name):
    answer = called_with(world, upstream, hostile.TEXTS[name], vendor)

    # What OpenAI's models write as arguments is text that may be anything; the others' is part of the answer's JSON.
    assert answer.status_code == 200 or (vendor != "OPENAI" and answer.status_code == 502), answer.text
    kept = shown(world, browser, answer.headers["X-Run-Id"])
    check_lists(world, browser, kept["promptId"])


def test_integers_beyond_64_bits_are_kept_as_their_digits(world, upstream):
    answer = called_with(world, upstream, f'{{"n": {HUGE}, "m": {HUGE - 1}, "deep": [{-HUGE}]}}')

    [call] = record(world, answer)["toolCalls"]
    assert call["arguments"] == {"n": str(HUGE), "m": HUGE - 1, "deep": [str(-HUGE)]}


@pytest.mark.parametrize("levels", [65, 260, 5000])
def test_arguments_that_nest_too_deeply_are_kept_as_the_text_they_came_as(world, upstream, levels):
    text = "[" * levels + "]" * levels
    answer = called_with(world, upstream, text)

    [call] = record(world, answer)["toolCalls"]
    assert call["arguments"] == text


@pytest.mark.parametrize("name", ["2**64", "260 levels", "5000 levels", "surrogates", "NUL"])
def test_no_arguments_of_a_tool_call_are_lost_in_a_stream(world, upstream, name):
    upstream.script(Reply(raw=hostile.with_arguments("OPENAI", hostile.TEXTS[name], stream=True)))
    answer = stream(world, prompt_with_tools(world))

    found = events(answer)
    [call] = [data for kind, _, data in found if kind == "tool_call"]
    assert found[-1][0] == "done"
    assert found[-1][2]["toolCalls"] == [call] == record(world, answer)["toolCalls"]


def test_no_arguments_of_a_tool_call_lose_a_run_of_a_project_that_masks(world, upstream):
    rules = {"masking": [{"kind": "pattern", "value": "18446744073709551616", "replacement": "***"}]}
    assert world.put("/api/v1/data-policy", json=rules).status_code == 200
    prompt_id = prompt_with_tools(world)
    for name, text in hostile.TEXTS.items():
        upstream.script(Reply(raw=hostile.with_arguments("OPENAI", text, stream=False)))
        answer = run(world, prompt_id)
        assert answer.status_code == 200, name
        kept = record(world, answer)["toolCalls"][0]["arguments"]
        assert str(HUGE) not in json.dumps(kept)


@SQLITE_CONTAINER
@pytest.mark.parametrize("name", hostile.TEXTS)
def test_no_arguments_of_a_tool_call_lose_a_replay(world, browser, upstream, name):
    prompt_id = prompt_with_tools(world)
    case_id = make_case(world, record_session(world, prompt_id, [HOT]))["id"]
    upstream.script(Reply(raw=hostile.with_arguments("OPENAI", hostile.TEXTS[name], stream=False)), Reply(text="31"))
    replay = replayed(world, case_id)

    assert replay["status"] == "failed"
    assert replay["turns"][0]["steps"][0]["actual"]["name"] == "weather"
    assert browser.open(f"{browser.base}/replays/{replay['id']}").status_code == 200


def test_no_words_of_a_judge_lose_a_replay(world, upstream):
    prompt_id = prompt_with_tools(world)
    session_id = record_session(world, prompt_id, [THANKS])
    case = make_case(world, session_id, assertionType="AI")
    upstream.script(Reply(text="You are welcome!"), judged("failed", findings=[finding("half \ud83d, \0")]))
    replay = finished(world, _judged(world, case["id"]))

    assert (replay["status"], replay["turns"][0]["steps"][0]["reason"]) == ("failed", "half \ufffd, \ufffd")


def _judged(world, case_id):
    accepted = world.post(f"/api/v1/test-cases/{case_id}/replays", json={"judgeModelName": MODELS["OPENAI"]})
    assert accepted.status_code == 202, accepted.text
    return accepted.json["id"]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [({"prompt_tokens": -5, "completion_tokens": 10**12}, (0, 2**31 - 1)), ({"prompt_tokens": HUGE}, (2**31 - 1, 0))],
)
def test_counts_that_no_column_holds_are_kept_within_it(world, upstream, usage, counted):
    body = json.loads(hostile.with_arguments("OPENAI", "{}", stream=False))
    body["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0} | usage
    upstream.script(Reply(raw=json.dumps(body).encode()))
    answer = run(world, prompt_with_tools(world))

    assert answer.status_code == 200, answer.text
    assert (answer.json["tokens"]["prompt"], answer.json["tokens"]["completion"]) == counted


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(tool_calls=[("weather", {"city": "Rome"})] * 2_000), "calls more than 1000 tools"),
        (Reply(text="\x01" * 1_500_000), "bytes; 6000000 are the most that can be stored"),
    ],
    ids=["tool calls", "text"],
)
def test_more_than_can_be_stored_ends_as_a_stored_failure(world, upstream, reply, words):
    upstream.script(reply)
    answer = run(world, prompt_with_tools(world))

    assert answer.status_code == 502
    assert words in record(world, answer)["error"]["message"]


def test_an_answer_repeated_by_its_idempotency_key_is_the_one_that_was_stored(world, upstream):
    prompt_id = prompt_with_tools(world)
    upstream.script(Reply(raw=hostile.with_arguments("OPENAI", hostile.TEXTS["surrogates"], stream=False)))
    first, second = (run(world, prompt_id, headers={"Idempotency-Key": "again"}) for _ in range(2))

    assert (first.status_code, first.json) == (200, second.json)
    assert first.json["toolCalls"][0]["arguments"] == {"\ufffd": "\ufffd", "city": "\U0001f600"}


def test_an_answer_that_the_database_refuses_ends_as_a_stored_failure_at_once(world, upstream, monkeypatch):
    finish = WorkTable.finish

    def refusing(table, connection, claim, values, **others):
        refused = values | {"outcome": {"tokens": object()}} if values["status"] == "done" else values
        return finish(table, connection, claim, refused, **others)

    monkeypatch.setattr(WorkTable, "finish", refusing)
    upstream.script(Reply(text="Here you are."))
    answer = run(world, prompt_with_tools(world))

    assert (answer.status_code, answer.json["error"]) == (502, "The model answered, but its answer can't be stored.")
    assert record(world, answer)["error"]["kind"] == "provider"


def test_a_result_that_the_database_refuses_ends_the_replay_with_its_reason_at_once(world, upstream, monkeypatch):
    case_id = make_case(world, record_session(world, prompt_with_tools(world), [THANKS]))["id"]
    upstream.script(Reply(text="You are welcome."))
    monkeypatch.setattr("app.replay.documents.dump", lambda result: {"unstorable": object(), "violations": []})
    replay = replayed(world, case_id)

    assert (replay["status"], replay["error"]) == ("error", "The replay was played, but its result can't be stored.")
    assert len(upstream.requests) == 1
    assert wait_until(lambda: world.get(f"/api/v1/replays/{replay['id']}").json["finishedAt"], "its end")
