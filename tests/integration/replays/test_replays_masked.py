"""A replay is stored masked; its verdicts are made of the draft's real words."""

import pytest

from app.models.data_policies import DataPolicy
from tests.fakes.judging import finding, judged
from tests.fakes.wire import Reply
from tests.integration.replays import recording
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.readable import readable

MASK = "[masked]"


@pytest.fixture
def secret(world):
    return f"ada{world.project_id}@example.org"


def mask(world, *rules):
    policy = DataPolicy(masking=[{"kind": kind, "value": value} for kind, value in rules])
    world.container.services.data_policies.put(project_id=world.project_id, policy=policy)


@pytest.fixture
def masked(world):
    mask(world, ("pattern", r"[\w.]+@[\w.]+"))


def by_hand(world, question, expected):
    case = {"name": "By hand", "question": question, "expectedAnswer": expected}
    made = world.post(f"/api/v1/prompts/{recording.prompt(world)}/test-cases", json=case)
    return made.json["id"]


@pytest.mark.usefixtures("masked")
def test_the_verdict_is_made_of_what_the_draft_really_answered(world, upstream, secret):
    case = by_hand(world, f"I am {secret}", f"Hello {secret}")
    upstream.script(Reply(text=f"Hello {secret}"), Reply(text="Hello bob@example.org"))
    equal, other = recording.replayed(world, case), recording.replayed(world, case)

    assert (equal["status"], other["status"]) == ("passed", "failed")
    for replay in (equal, other):
        [turn] = replay["turns"]
        assert turn["user"] == f"I am {MASK}"
        assert (turn["steps"][0]["expected"], turn["steps"][0]["actual"]) == (f"Hello {MASK}", f"Hello {MASK}")
    assert other["turns"][0]["steps"][0]["diff"] == [
        {"path": "", "expected": f"Hello {MASK}", "actual": f"Hello {MASK}"}
    ]
    # The texts of a test case are written by a person: they are kept, and replayed, unmasked.
    assert readable(world, secret) == ["case_snapshots", "test_cases"]


@pytest.mark.usefixtures("masked")
def test_a_masked_recording_is_matched_by_a_draft_that_answers_with_the_mask(world, upstream, secret):
    call = RecordedCall("weather", {"city": secret}, {"of": secret})
    turn = RecordedTurn(f"I am {secret}", f"Hello {secret}", (call,))
    case = recording.make_case(world, recording.record(world, recording.prompt(world), [turn]))
    upstream.script(Reply(tool_calls=[("weather", {"city": MASK})]), Reply(text=f"Hello {MASK}"))

    assert recording.replayed(world, case["id"])["status"] == "passed"
    assert f"I am {MASK}" in str(upstream.requests[0].body)
    assert readable(world, secret) == []


@pytest.mark.usefixtures("masked")
@pytest.mark.parametrize("how", ["extra", "error", "arguments"])
def test_no_part_of_a_replay_keeps_it_readable(world, upstream, secret, how):
    case = recording.make_case(world, recording.record(world, recording.prompt(world), [recording.HOT]))
    rome, there = ("weather", {"city": "Rome"}), ("weather", {"city": secret})
    replies = {
        "extra": [Reply(tool_calls=[rome, there]), Reply(text=secret)],
        "error": [Reply(status=400, message=f"Bad: {secret}")],
        "arguments": [Reply(tool_calls=[there]), Reply(text=f"Ask {secret}")],
    }
    upstream.script(*replies[how])
    replay = recording.replayed(world, case["id"])

    assert readable(world, secret) == []
    assert MASK in str(replay)
    assert replay["status"] == {"error": "error"}.get(how, "failed")


def test_a_pointer_into_arguments_is_followed_in_calls_and_their_differences(world, upstream):
    mask(world, ("pointer", "/gen_ai.tool.call.arguments/city"))
    case = recording.make_case(world, recording.record(world, recording.prompt(world), [recording.HOT]))
    upstream.script(Reply(tool_calls=[("weather", {"city": "Atlantis", "unit": "K"})]), Reply(text="Cold."))
    replay = recording.replayed(world, case["id"])

    called = replay["turns"][0]["steps"][0]
    assert called["result"] == "failed"
    assert called["actual"]["arguments"] == {"city": MASK, "unit": "K"}
    assert MASK in replay["violations"][0]["message"]
    assert called["diff"] == [
        {"path": "/city", "expected": MASK, "actual": MASK},
        {"path": "/unit", "actual": "K"},
    ]
    assert readable(world, "Atlantis") == []


def test_a_judges_words_about_what_is_masked_are_masked(world, upstream):
    mask(world, ("pointer", "/gen_ai.output.messages/*/parts/*/content"))
    prompt_id = recording.prompt(world)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "AI", "assertionValue": "It greets."})
    case = recording.make_case(world, recording.record(world, prompt_id, [recording.THANKS]))
    verdict = judged("passed", findings=[finding("It greets Atlantis.", matters=False)])
    upstream.script(Reply(text="Hello Atlantis."), verdict)
    replay = recording.replayed(world, case["id"], judgeModelName="gpt-4o-mini")

    [step] = replay["turns"][0]["steps"]
    assert (step["result"], step["actual"], step["reason"]) == ("passed", MASK, MASK)


def test_violations_and_values_are_masked_in_replays_and_in_lists(world, upstream, masked, secret):
    case = recording.make_case(world, recording.record(world, recording.prompt(world), [recording.HOT]))
    called = ("book", {"hotel": secret})
    upstream.script(Reply(tool_calls=[("weather", {"city": "Rome"}), called]), Reply(text=f"Mail {secret}: 31 °C"))
    replay = recording.replayed(world, case["id"])

    [violation] = replay["violations"]
    assert (violation["kind"], violation["arguments"]) == ("extra_write", {"hotel": MASK})
    assert MASK in violation["message"]
    facts = replay["turns"][0]["steps"][1]["facts"]
    assert (facts["kept"], facts["invented"]) == (["31 °C"], [MASK])
    [entry] = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]
    assert entry["violations"] == replay["violations"]
    assert readable(world, secret) == []


def test_a_person_can_decide_on_a_replay_that_is_masked(world, upstream, secret, masked):
    prompt_id = recording.prompt(world)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "MANUAL"})
    case = recording.make_case(world, recording.record(world, prompt_id, [recording.THANKS]))
    upstream.script(Reply(text=f"Hello {secret}"))
    replay = recording.replayed(world, case["id"])
    assert replay["status"] == "needs_review"

    decided = world.patch(f"/api/v1/replays/{replay['id']}/steps/0", json={"verdict": "passed"})
    assert (decided.json["status"], decided.json["turns"][0]["steps"][0]["actual"]) == ("passed", f"Hello {MASK}")
