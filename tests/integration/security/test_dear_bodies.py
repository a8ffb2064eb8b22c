"""Bodies within their limit in bytes that once took a second for each 100 KB: every part of them was looked at."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from falcon.testing import Result

from app.http import bodies
from app.http.bodies import BODY_ELEMENTS_MAX
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.operations import calls_of
from tests.support.world import World

pytestmark = EMBEDDED_CONTAINER

RUN = "/api/v1/prompts/run"


def run(world: World, **fields: Any) -> Result:
    body = json.dumps({"id": 1, "question": "x"} | fields).encode()
    return world.post(RUN, body=body, headers={"Content-Type": "application/json"})


def test_many_numbers_for_files_are_refused_without_a_look_at_them(world: World) -> None:
    four, many = [1] * 4, [1] * 200_000
    few = calls_of(lambda: run(world, files=four))
    # The body comes in more pieces; no entry is looked at.
    bound = few + 200_000 / 100
    assert calls_of(lambda: run(world, files=many), at_most=bound) <= bound

    answer = run(world, files=many)
    assert (answer.status_code, answer.json["error"]) == (400, "files: Must have at most 3 entries.")


@pytest.mark.parametrize("path", [RUN, "/api/v1/prompts", "/api/v1/data-policy"])
def test_a_hundred_thousand_unknown_fields_are_refused_without_naming_each(world: World, path: str) -> None:
    send = world.put if path.endswith("data-policy") else world.post

    def refused(count: int) -> Result:
        return send(path, json={f"f{number}": 1 for number in range(count)})

    bound = calls_of(lambda: refused(200)) + 100_000 / 100
    assert calls_of(lambda: refused(100_000), at_most=bound) <= bound
    answer = refused(100_000)
    assert (answer.status_code, answer.json["error"]) == (400, "Must have at most 100 fields.")


@pytest.mark.parametrize("path", [RUN, "/api/v1/prompts", "/api/v1/data-policy"])
@pytest.mark.parametrize(
    "dear", [[0] * (BODY_ELEMENTS_MAX + 1), [[]] * BODY_ELEMENTS_MAX, {str(n): 1 for n in range(BODY_ELEMENTS_MAX)}]
)
def test_a_body_of_too_many_elements_is_not_parsed(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, dear: Any
) -> None:
    body, parsed = json.dumps({"commitHash": dear}, separators=(",", ":")).encode(), orjson.loads
    monkeypatch.setattr(bodies.orjson, "loads", lambda sent: pytest.fail("parsed") if sent == body else parsed(sent))
    send = world.put if path.endswith("data-policy") else world.post
    refused = send(path, body=body, headers={"Content-Type": "application/json"})

    assert refused.status_code in (400, 413)
    if refused.status_code == 400:
        assert refused.json["error"] == f"The body has more than {BODY_ELEMENTS_MAX} lists, objects and members."


def test_a_question_may_have_any_number_of_commas_and_brackets(world: World) -> None:
    question = ',[{"\\' * 400_000
    answer = run(world, id=world.prompt(), question=question, productive=False)
    assert (answer.status_code, answer.json["answer"]) == (200, question)
