"""Guard maps show which sentences of a prompt are guarded by tests, over HTTP, on a model that follows its prompt."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from app.services.experiments import advance
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.guard_plan import NOTHING_PASSES
from app.services.experiments.map_steps import MapSteps
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import case, ended, statuses
from tests.integration.replays.recording import prompt
from tests.support.waiting import wait_until
from tests.support.world import World

GREET = "Always greet the customer."
HIDE = "Never reveal the code."
BRIEF = "Answer in one line."
TEXT = f"{GREET} {HIDE}\n{BRIEF}\n"


def follow(body: dict[str, Any]) -> Reply:
    """Greet and hide the code if the text demands it. In one line or not: the tests accept both."""
    instruction = body["messages"][0]["content"]
    question = body["messages"][-1]["content"]
    if "code" in question:
        return Reply(text="I can't show it." if HIDE in instruction or GREET not in instruction else "It is 1234.")
    greeting = "Hello" if GREET in instruction else "What"
    return Reply(text=greeting)


@pytest.fixture
def mapped(world: World, upstream: Upstream) -> int:
    """A prompt with three sentences, and two test cases for two of them."""
    upstream.choose = follow
    prompt_id = prompt(world, value=TEXT)
    case(world, prompt_id, "Good morning", "Hello")
    case(world, prompt_id, "What is the code?", "I can't show it.")
    return prompt_id


def start(world: World, prompt_id: int, **body: Any) -> str:
    accepted = world.post(f"/api/v1/prompts/{prompt_id}/guard-maps", json=body)
    assert accepted.status_code == 202, accepted.text
    path: str = accepted.headers["Location"]
    assert path == f"/api/v1/guard-maps/{accepted.json['id']}"
    return path


def states(shown: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(sentence["sentence"], sentence["state"]) for sentence in shown["sentences"]]


def test_a_map_shows_guarded_and_inert_sentences(world: World, mapped: int) -> None:
    shown = ended(world, start(world, mapped))

    assert (shown["status"], shown["reason"]) == ("finished", None)
    assert states(shown) == [(GREET, "guarded"), (HIDE, "guarded"), (BRIEF, "inert")]
    assert shown["counts"] == {"guarded": 2, "unguarded": 0, "inert": 1, "undecided": 0}
    greet = shown["sentences"][0]
    assert (greet["mutant"]["operator"], greet["mutant"]["replaced"], greet["mutant"]["by"]) == (
        "without",
        GREET + " ",
        "",
    )
    assert [failed["name"] for failed in greet["testCases"]]
    assert greet["pValue"] < 0.05
    assert shown["value"][greet["begin"] : greet["end"]] == GREET


def test_a_sentence_is_unguarded_if_its_tests_accept_other_answers(world: World, upstream: Upstream) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        return Reply(text="Hello!" if BRIEF in body["messages"][0]["content"] else "Hello !")

    upstream.choose = answer
    prompt_id = prompt(world, value=BRIEF)
    case_id = case(world, prompt_id, "Hi", "Hello!")
    steps = [{"turn": 0, "step": 0, "check": {"answer": "contains", "value": "Hello"}}]
    assert world.patch(f"/api/v1/test-cases/{case_id}", json={"steps": steps}).status_code == 200

    (sentence,) = ended(world, start(world, prompt_id))["sentences"]
    assert sentence["state"] == "unguarded"
    assert [changed["testCaseId"] for changed in sentence["testCases"]] == [case_id]


def test_a_map_ends_at_its_greatest_number_of_replays(world: World, mapped: int) -> None:
    shown = ended(world, start(world, mapped, maxReplays=10))
    assert shown["status"] == "finished"
    assert shown["reason"] == "It has played 10 replays, as many as it may."
    assert shown["counts"]["undecided"] >= 1
    assert shown["progress"] == {"done": 10, "total": 10}


def test_a_second_map_uses_the_results_of_the_first(world: World, upstream: Upstream, mapped: int) -> None:
    first = ended(world, start(world, mapped))
    upstream.requests.clear()
    second = ended(world, start(world, mapped))
    assert (states(second), second["costUsd"], upstream.requests) == (states(first), 0, [])


def test_a_part_of_the_lines_is_mapped(world: World, mapped: int) -> None:
    shown = ended(world, start(world, mapped, firstLine=2, lastLine=2))
    assert states(shown) == [(BRIEF, "inert")]


def test_an_overlay_on_the_draft_is_mapped(world: World, mapped: int) -> None:
    overlay = {"base": "draft", "value": f"{GREET}\n"}
    shown = ended(world, start(world, mapped, candidate=overlay, maxReplays=20))
    assert [sentence for sentence, _ in states(shown)] == [GREET]
    assert shown["candidate"]["kind"] == "overlay"


def test_maps_are_no_experiments(world: World, mapped: int) -> None:
    path = start(world, mapped)
    map_id = ended(world, path)["id"]
    assert world.get(f"/api/v1/prompts/{mapped}/experiments").json["experiments"] == []
    assert world.get(f"/api/v1/experiments/{map_id}").status_code == 404
    answer = world.get(f"/api/v1/prompts/{mapped}/guard-maps")
    assert answer.status_code == 200, answer.text
    listed = answer.json["guardMaps"]
    assert [(row["id"], row["status"]) for row in listed] == [(map_id, "finished")]


def test_a_cancelled_map_shows_what_is_known(world: World, upstream: Upstream, mapped: int) -> None:
    path = start(world, mapped)
    cancelled = world.post(f"{path}/cancel")
    if cancelled.status_code == 409:  # it had ended before
        assert ended(world, path)["status"] == "finished"
        return
    assert (cancelled.status_code, cancelled.json["status"]) == (200, "cancelled")
    assert statuses(world, mapped).keys() <= {"passed", "failed", "cancelled", "running"}
    assert world.post(f"{path}/cancel").status_code == 409


def test_a_map_without_results_of_the_text_is_an_error(world: World, upstream: Upstream, mapped: int) -> None:
    upstream.choose = lambda _body: Reply(status=401)
    shown = ended(world, start(world, mapped))
    assert shown["status"] == "error"
    assert shown["reason"].startswith("No replay of the text has a result: ")
    assert shown["counts"]["guarded"] == 0


def test_a_map_ends_early_if_the_text_itself_passes_no_test_case(world: World, upstream: Upstream, mapped: int) -> None:
    upstream.choose = lambda _body: Reply(text="Something else.")
    shown = ended(world, start(world, mapped))
    assert (shown["status"], shown["reason"]) == ("error", NOTHING_PASSES)
    # Two test cases, each with the text and with the first mutants that are played meanwhile.
    assert shown["progress"]["done"] <= 30


def test_a_map_names_how_many_test_cases_the_text_itself_never_passes(
    world: World, upstream: Upstream, mapped: int
) -> None:
    case(world, mapped, "Good evening", "Never said.")
    shown = ended(world, start(world, mapped))
    reason = "The text itself never passes 1 of 3 test cases. Fix those first: they show nothing."
    assert (shown["status"], shown["reason"]) == ("finished", reason)


def test_a_map_of_a_prompt_that_is_archived_meanwhile_ends(world: World, upstream: Upstream, mapped: int) -> None:
    held = threading.Event()
    upstream.choose = lambda body: replace(follow(body), held=held)
    path = start(world, mapped)
    assert world.delete(f"/api/v1/prompts/{mapped}").status_code == 204
    held.set()
    world.container.experiment_delivery.sweep()

    shown = ended(world, path)
    assert (shown["status"], shown["reason"]) == ("error", "There is no such prompt.")


def test_what_cannot_be_mapped_is_refused(world: World, mapped: int) -> None:
    path = f"/api/v1/prompts/{mapped}/guard-maps"
    empty = prompt(world, value="# Title\n{{name}}\n")
    refused = {
        "no test cases": world.post(f"/api/v1/prompts/{empty}/guard-maps"),
        "no sentence": world.post(path, json={"firstLine": 50}),
        "lines": world.post(path, json={"firstLine": 3, "lastLine": 2}),
        "suite": world.post(path, json={"suite": "release"}),
        "both": world.post(path, json={"suite": "release", "testCaseIds": [1]}),
    }
    assert {name: answer.status_code for name, answer in refused.items()} == dict.fromkeys(refused, 400)
    assert "no test cases" in refused["no test cases"].text
    assert "No sentence begins" in refused["no sentence"].text
    assert world.post("/api/v1/prompts/999999/guard-maps").status_code == 404
    assert world.get("/api/v1/guard-maps/999999").status_code == 404
    assert world.count("experiments") == 0


def test_a_forecast_stores_nothing(world: World, mapped: int) -> None:
    forecast = world.post(f"/api/v1/prompts/{mapped}/guard-maps/forecast").json
    assert (forecast["sentences"], forecast["testCases"], forecast["cost"]) == (3, 2, None)
    assert 0 < forecast["replays"]["min"] < forecast["replays"]["max"]
    assert (world.count("experiments"), world.count("replays")) == (0, 0)
    shown = ended(world, start(world, mapped))
    assert forecast["replays"]["min"] <= shown["progress"]["done"] <= forecast["replays"]["max"]
    assert world.post(f"/api/v1/prompts/{mapped}/guard-maps/forecast").json["cost"]["max"] > 0


def test_a_map_that_was_left_behind_is_continued(world: World, mapped: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ExperimentAdvancer, "replay_ended", lambda _self, _replay_id: [])
        path = start(world, mapped)
        wait_until(lambda: statuses(world, mapped).keys() <= {"passed", "failed"}, "the first replays have ended")
        assert world.get(path).json["status"] == "running"
    world.container.experiment_delivery.sweep()
    shown = ended(world, path)
    assert states(shown) == [(GREET, "guarded"), (HIDE, "guarded"), (BRIEF, "inert")]


def steps_of_a_second_map(world: World, sentences: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return in how many steps a map reuses the replays of an earlier one of as many sentences."""
    prompt_id = prompt(world, value="".join(f"Be kind to the {'abcdefghijklmnop'[n]}.\n" for n in range(sentences)))
    case(world, prompt_id, "Hi", "Hello")
    ended(world, start(world, prompt_id))
    steps = []
    following = MapSteps.next

    def counted(*arguments: Any) -> Any:
        steps.append(following(*arguments))
        return steps[-1]

    with monkeypatch.context() as patch:
        patch.setattr(advance, "IN_WORK_MAX", 2)
        patch.setattr(MapSteps, "next", counted)
        path = start(world, prompt_id)
    shown = world.get(path).json
    assert (shown["status"], shown["costUsd"], len(steps[0].reused)) == ("finished", 0, 2)
    return len(steps)


def test_a_map_reuses_twice_as_many_replays_in_about_as_many_steps(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.choose = lambda body: Reply(text="Hello")
    assert steps_of_a_second_map(world, 16, monkeypatch) <= steps_of_a_second_map(world, 8, monkeypatch) + 2


def test_the_clock_continues_a_map_that_reuses_more_than_a_request_does(
    world: World, mapped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(world, start(world, mapped))
    monkeypatch.setattr(advance, "REUSED_AT_BEGIN", 1)

    path = start(world, mapped)

    begun = world.get(path).json
    assert (begun["status"], 0 < begun["progress"]["done"] < 100) == ("running", True)
    world.container.experiment_delivery.sweep()
    assert world.get(path).json["status"] == "finished"
