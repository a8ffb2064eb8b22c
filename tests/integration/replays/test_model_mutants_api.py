"""A model proposes mutants of a guard map before it plays, when asked."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count, takewhile
from typing import Any

import pytest

from app.guard import proposals
from app.models import budgets, experiments
from app.services.experiments import mutant_proposer
from app.services.experiments.mutant_proposer import INTERRUPTED, STALE_S, MutantSweeper
from app.work.sweeper import STEP_S
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import case, ended
from tests.integration.replays.recording import prompt
from tests.integration.replays.test_guard_maps_api import start
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.world import World

BRIEF = "Answer in one line."
RUDE = "Answer in one rude line."
STALE_SWEEPS = int(STALE_S / STEP_S)


def follow(body: dict[str, Any]) -> Reply:
    """Answer otherwise without the sentence, and wrong only as the model's mutant asks."""
    instruction = body["messages"][0]["content"]
    return Reply(text="Bye" if RUDE in instruction else "Hello!" if BRIEF in instruction else "Hello !")


def wordings(*sentences: tuple[int, str]) -> Reply:
    entries = [{"number": number, "wordings": [wording]} for number, wording in sentences]
    return Reply(text=json.dumps({"sentences": entries}))


@pytest.fixture
def mapped(world: World, upstream: Upstream) -> int:
    """A prompt with a sentence. Only the mutant of a model fails its test case, the mutants of operators pass it."""
    return mapped_text(world, upstream, BRIEF)


def mapped_text(world: World, upstream: Upstream, text: str) -> int:
    upstream.choose = follow
    upstream.rewords = lambda _body: wordings((0, RUDE))
    prompt_id = prompt(world, value=text)
    case_id = case(world, prompt_id, "Hi", "Hello!")
    steps = [{"turn": 0, "step": 0, "check": {"answer": "contains", "value": "Hello"}}]
    assert world.patch(f"/api/v1/test-cases/{case_id}", json={"steps": steps}).status_code == 200
    return prompt_id


@pytest.fixture
def unsent(world: World, mapped: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a map of which no worker gets the message."""
    with monkeypatch.context() as patch:
        patch.setattr(type(world.container.experiment_delivery.mutants), "send", lambda *_: None)
        return start(world, mapped, modelMutants=True)


def id_of(path: str) -> int:
    return int(path.rpartition("/")[2])


def work_is_done(world: World, path: str) -> None:
    """Do what a worker does with the map's message."""
    world.container.experiment_delivery.mutants.actor.fn(id_of(path))


def used(world: World, source: str = "mutants") -> dict[str, Any]:
    rows = world.get("/api/v1/usage?groupBy=source").json["rows"]
    return next((row for row in rows if row["source"] == source), {"runs": 0})


def mutants_of(world: World, path: str) -> list[tuple[int, str]]:
    """Return the sentence and the text of each mutant that the model proposed."""
    with world.container.database.read() as connection:
        stored = experiments.contents_of(connection, experiment_id=id_of(path)).models
    return [(mutant["sentence"], mutant["by"]) for mutant in stored if mutant["operator"] == "model"]


def test_a_mutant_of_a_model_shows_that_a_sentence_is_guarded(world: World, upstream: Upstream, mapped: int) -> None:
    path = start(world, mapped, modelMutants=True, maxCost=5)
    shown = ended(world, path)

    (sentence,) = shown["sentences"]
    assert (sentence["state"], sentence["mutant"]) == ("guarded", {"operator": "model", "replaced": BRIEF, "by": RUDE})
    assert (shown["status"], shown["modelMutants"], shown["modelError"]) == ("finished", True, None)
    assert [BRIEF in str(asked.body) for asked in upstream.reworded] == [True]
    usage = used(world)
    assert (usage["runs"], usage["failed"], usage["cost"] > 0) == (1, 0, True)
    with world.container.database.read() as connection:
        spent = budgets.spending_of(connection, experiment_id=id_of(path), replay_id=0).spent
    assert shown["costUsd"] == pytest.approx(spent)
    assert spent == pytest.approx(usage["cost"] + used(world, "replay")["cost"])


def test_no_model_is_asked_by_default_and_a_forecast_counts_two_mutants_more(
    world: World, upstream: Upstream, mapped: int
) -> None:
    shown = ended(world, start(world, mapped))
    assert (shown["modelMutants"], shown["sentences"][0]["state"], upstream.reworded) == (False, "unguarded", [])

    path = f"/api/v1/prompts/{mapped}/guard-maps/forecast"
    before, after = (world.post(path, json={"modelMutants": asked}).json for asked in (False, True))
    assert after["mutants"] - before["mutants"] == 2
    assert after["replays"]["max"] > before["replays"]["max"]


@pytest.mark.parametrize("reply", [Reply(status=400, message="no"), Reply(text="I can't."), Reply(refusal="No.")])
def test_a_map_goes_on_without_a_model_that_fails(world: World, upstream: Upstream, mapped: int, reply: Reply) -> None:
    upstream.rewords = lambda _body: reply
    shown = ended(world, start(world, mapped, modelMutants=True))
    assert (shown["status"], shown["sentences"][0]["state"]) == ("finished", "unguarded")
    assert shown["modelError"]
    assert (used(world)["runs"], used(world)["failed"]) == (1, 1)


def test_without_a_model_that_may_judge_the_request_is_refused(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world, "echo", value=BRIEF)
    case(world, prompt_id, "Hi", "Hello!")
    refused = world.post(f"/api/v1/prompts/{prompt_id}/guard-maps", json={"modelMutants": True, "judge": "never"})
    assert (refused.status_code, "modelMutants: echo is a builtin model" in refused.text) == (400, True)
    assert world.count("experiments") == 0
    named = {"modelMutants": True, "judgeModelName": "gpt-4o-mini", "maxReplays": 1}
    ended(world, start(world, prompt_id, **named))
    assert [asked.body["model"] for asked in upstream.reworded] == ["gpt-4o-mini"]


def test_only_the_question_in_which_a_worker_died_is_asked_again(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "CHARACTERS_MAX", len(BRIEF))
    monkeypatch.setattr(type(world.container.experiment_delivery.mutants), "send", lambda *_: None)
    prompt_id = mapped_text(world, upstream, f"{BRIEF}\nBe kind to all.\nBe calm to all.")
    upstream.rewords = lambda _body: wordings((0, RUDE), (1, "Be curt."), (2, "Be loud."))
    path = start(world, prompt_id, modelMutants=True, maxReplays=1)
    asks, propose = count(), proposals.propose_mutants

    def dying(*arguments: Any) -> Any:
        return sys.exit("killed") if next(asks) == 1 else propose(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(mutant_proposer, "propose_mutants", dying)
        with pytest.raises(SystemExit):
            work_is_done(world, path)
    assert (mutants_of(world, path), world.get(path).json["status"]) == ([(0, RUDE)], "queued")

    work_is_done(world, path)

    assert mutants_of(world, path) == [(0, RUDE), (1, "Be curt."), (2, "Be loud.")]
    assert (len(upstream.reworded), used(world)["runs"]) == (3, 3)
    assert ended(world, path)["status"] == "finished"


def test_the_clock_lets_another_worker_ask_if_a_claim_does_not_change(
    world: World, upstream: Upstream, unsent: str
) -> None:
    proposer, clock = world.container.services.mutant_proposer, count(step=5)
    assert proposer._put_claim(id_of(unsent), None, "of a worker that was killed")
    work_is_done(world, unsent)
    assert (upstream.reworded, world.get(unsent).json["status"]) == ([], "queued")
    sweeper = MutantSweeper(database=world.container.database, proposer=proposer, monotonic=lambda: float(next(clock)))

    empty = list(takewhile(lambda rows: not rows, (sweeper.sweep() for _ in range(2 * STALE_SWEEPS))))

    assert STALE_SWEEPS <= len(empty) < 2 * STALE_SWEEPS
    work_is_done(world, unsent)
    assert ended(world, unsent)["sentences"][0]["state"] == "guarded"


def test_the_clock_sends_a_map_again_until_it_was_asked_for(world: World, upstream: Upstream, unsent: str) -> None:
    world.container.experiment_delivery.advance(id_of(unsent))
    assert world.get(unsent).json["status"] == "queued"
    services = world.container.services
    sweeper = MutantSweeper(database=world.container.database, proposer=services.mutant_proposer)
    world.container.experiment_delivery.mutants.send(sweeper.sweep())
    assert ended(world, unsent)["sentences"][0]["state"] == "guarded"
    assert sweeper.sweep() == []


def test_a_map_goes_on_if_its_workers_died_too_often(
    world: World, upstream: Upstream, unsent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutant_proposer, "ATTEMPTS_MAX", 0)
    work_is_done(world, unsent)
    shown = ended(world, unsent)
    assert (shown["modelError"], shown["sentences"][0]["state"], upstream.reworded) == (INTERRUPTED, "unguarded", [])


def held_question(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Hold the worker before it asks; returns what is set when it is there, and what lets it ask."""
    begun, held = threading.Event(), threading.Event()

    def waiting(*arguments: Any) -> Any:
        begun.set()
        held.wait(PATIENCE_S)
        return proposals.propose_mutants(*arguments)

    monkeypatch.setattr(mutant_proposer, "propose_mutants", waiting)
    return begun, held


def test_workers_that_ask_at_once_ask_once(
    world: World, upstream: Upstream, unsent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, held = held_question(monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work_is_done, world, unsent) for _ in range(4)]
        wait_until(lambda: sum(work.done() for work in working) == 3, "three of the workers")
        held.set()
        for work in working:
            work.result()
    assert (len(upstream.reworded), mutants_of(world, unsent)) == (1, [(0, RUDE)])
    ended(world, unsent)


def test_a_map_is_cancelled_while_its_model_is_asked(
    world: World, upstream: Upstream, mapped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, held = held_question(monkeypatch)
    path = start(world, mapped, modelMutants=True)
    assert begun.wait(PATIENCE_S)
    assert world.post(f"{path}/cancel").json["status"] == "cancelled"
    held.set()

    wait_until(lambda: used(world)["runs"], "the usage of the question")

    shown = world.get(path).json
    assert (shown["status"], mutants_of(world, path), upstream.requests) == ("cancelled", [], [])
    assert shown["costUsd"] == pytest.approx(used(world)["cost"])


def test_a_question_that_reaches_the_greatest_cost_ends_the_map(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "CHARACTERS_MAX", len(BRIEF))
    prompt_id = mapped_text(world, upstream, f"{BRIEF}\nBe kind.")
    shown = ended(world, start(world, prompt_id, modelMutants=True, maxCost=1e-9))
    assert (shown["status"], shown["reason"].startswith("The cost reached ")) == ("finished", True)
    assert (len(upstream.reworded), upstream.requests, shown["counts"]["undecided"]) == (1, [], 2)
