"""Programs send scores in batches: all are stored or none, each once for its id, and each counts toward the limit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_scores_api import TALK, URL, give, listed, run_of, sent, session_ids
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World, new_world, running_on, settings_for

Json = dict[str, Any]
TURN = {"traceId": "ab" * 16}


def score(id_: str | None = None, **fields: Any) -> Json:
    told = {"name": "helpful", "value": 0.5, "target": TURN} | fields
    return told if id_ is None else {"id": id_} | told


def give_all(world: World, scores: list[Json], status: int = 200) -> Any:
    answer = world.post(URL, json={"scores": scores})
    assert answer.status_code == status, answer.text
    return answer.json


def test_a_batch_scores_things_of_every_kind_as_single_scores_do(world: World) -> None:
    prompt_id = world.prompt()
    sent(world, prompt_id, **TALK)
    alone = sent(world, prompt_id)
    targets: list[Json] = [
        {"promptId": prompt_id, "conversationId": "talk"},
        *({"sessionId": session_id} for session_id in session_ids(world, prompt_id)),
        {"traceId": alone["traceId"], "spanId": alone["spanId"]},
        {"runId": run_of(world, prompt_id)},
    ]
    singles = [give(world, target) for target in targets]
    batch = give_all(world, [score(f"n{number}", target=target) for number, target in enumerate(targets)])["scores"]

    assert [one["target"] for one in batch] == [one["target"] for one in singles]
    assert [one["id"] for one in batch] == [f"n{number}" for number in range(5)]
    assert {one["id"]: one for one in batch}.items() <= {one["id"]: one for one in listed(world)}.items()


def test_a_batch_that_is_sent_twice_is_stored_once_and_answered_alike(world: World) -> None:
    batch = [score("a", comment="🙂"), score("b", value="größe"), score("c", value=False)]
    first = give_all(world, batch)
    assert give_all(world, batch) == first
    give_all(world, [score("b", value="small")])

    assert {one["id"]: one["label"] for one in listed(world)} == {"a": None, "b": "small", "c": "false"}


def test_scores_without_an_id_are_new_ones(world: World) -> None:
    for _ in range(2):
        give_all(world, [score(), score()])
    assert len(listed(world)) == 4


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([score(), score(value=None)], "scores.1.value: Field may not be null."),
        ([score(), score(), score(), score(value=[])], "scores.3.value: Must be a number, true, false or a text."),
        ([score(target={})], "scores.0.target: Name one thing"),
        ([score("a"), score("b"), score("a")], "scores.2.id: Another score of the batch has this id."),
        ([], "scores: Must have 1 to 1000 entries."),
        ([score()] * 1001, "scores: Must have 1 to 1000 entries."),
        ("all", "scores: Not a valid list."),
    ],
)
def test_a_wrong_score_is_named_by_its_path_and_nothing_is_stored(world: World, scores: Any, message: str) -> None:
    assert give_all(world, scores, 400)["error"].startswith(message)
    assert listed(world) == []


def test_nothing_is_stored_of_a_batch_with_a_target_that_the_project_does_not_have(world: World) -> None:
    stranger = new_world(world.container)
    run_id = run_of(stranger, stranger.prompt())
    batch = [score("mine"), score("theirs", target={"runId": run_id})]

    assert give_all(world, batch, 404)["error"] == "scores.1.target: There is no such run."
    assert listed(world) == []


def test_batches_with_the_same_scores_at_once_store_each_once(world: World) -> None:
    batch = [score(f"n{number}") for number in range(50)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda turn: give_all(world, batch[:: 1 if turn % 2 else -1]), range(8)))

    assert {len(answer["scores"]) for answer in answers} == {50}
    assert len(listed(world, limit=200)) == 50


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def limited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A project of an instance that accepts 5 scores or batches of ingest in a minute."""

    def settings(*args: Any, **urls: Any) -> Any:
        return replace(settings_for(*args, **urls), ingest_rate_limit=5)

    home: Path = tmp_path_factory.mktemp("limited")
    with running_on(request, home, settings) as container:
        yield new_world(container)


def test_each_score_of_a_batch_counts_toward_the_limit_of_ingest(limited: World) -> None:
    too_many = give_all(limited, [score() for _ in range(6)], 400)
    assert too_many["error"] == "scores: Send at most 5 at once, the rate limit of a minute."
    taken = limited.post(URL, json={"scores": [score() for _ in range(3)]})
    refused = limited.post(URL, json={"scores": [score(), score()]})

    assert (taken.status_code, taken.headers["RateLimit-Remaining"]) == (200, "1")
    assert (refused.status_code, refused.headers["RateLimit-Remaining"]) == (429, "0")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert len(listed(limited)) == 3
