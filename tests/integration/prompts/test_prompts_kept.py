"""A kept answer of a read or a rendering is what the application would answer to this caller at this moment."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from falcon.testing import Result

from app.api.kept_answers import BODY_MAX, KeptRoute
from app.api.operation import kept_routes, operation_of
from app.concurrency.caches import BoundedCache
from app.http.middleware import REQUEST_LOGGER
from app.http.route_table import RoutedApp
from app.metrics import Metrics
from app.metrics.registry import CACHE_LOOKUPS, HTTP_REQUESTS
from app.process.application import build_app
from app.redis_store.rate import RateLimiter
from tests.support.backends import SQLITE_CONTAINER
from tests.support.checked_client import CheckedClient
from tests.support.counting import Since
from tests.support.world import World, new_world

PROMPTS = "/api/v1/prompts"
OWN = {"x-request-id", "ratelimit-remaining", "ratelimit-reset"}
VALUES = [{"name": "friendly", "content": "friendly", "isDefault": True}]
Ask = Callable[[World, int], Result]


def by_get(world: World, prompt_id: int) -> Result:
    return world.get(f"{PROMPTS}/{prompt_id}")


def by_label(world: World, prompt_id: int) -> Result:
    return world.get(f"{PROMPTS}/{prompt_id}", params={"label": "production", "splitKey": "user 1"})


def unchanged(world: World, prompt_id: int) -> Result:
    return world.get(f"{PROMPTS}/{prompt_id}", headers={"If-None-Match": "*"})


def rendered(world: World, prompt_id: int) -> Result:
    return world.post(f"{PROMPTS}/{prompt_id}/render", json={"placeholders": {"tone": "friendly"}})


def rendered_by_label(world: World, prompt_id: int) -> Result:
    return world.post(f"{PROMPTS}/{prompt_id}/render", json={"label": "production"})


ASKS: list[Ask] = [by_get, by_label, unchanged, rendered, rendered_by_label]


class Watched:
    """The front of an app, which counts the requests that the application itself answers."""

    def __init__(self, front: Any) -> None:
        self.front, self.made = front, 0

    def answer(self, env: dict[str, Any], start_response: Any, application: Any) -> Iterable[bytes]:
        def made(*args: Any) -> Iterable[bytes]:
            self.made += 1
            return application(*args)  # type: ignore[no-any-return]

        return self.front.answer(env, start_response, made)  # type: ignore[no-any-return]


@pytest.fixture
def watched(world: World, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The front of the world's app, for which no time passes."""
    services, app = world.container.services, world.client.app
    assert isinstance(app, RoutedApp)
    front = Watched(app.front)
    monkeypatch.setattr(app, "front", front)
    monkeypatch.setattr(services.prompts, "_monotonic", lambda: 0.0)
    monkeypatch.setattr(services.keys, "_touched", time.monotonic() + 1000)
    for cache in (services.keys._cache, services.models.cache):
        monkeypatch.setattr(cache, "_keep_s", 1000.0)
    return front


@pytest.fixture
def prompt_id(world: World) -> int:
    """A prompt with a version "one", which has the label `production`, and a newer version "two"."""
    placeholders = [{"key": "tone", "description": "", "values": VALUES}]
    new = {"name": "n", "value": "one {{tone}}", "placeholders": placeholders}
    made = int(world.post(PROMPTS, json=new).json["prompt"]["id"])
    put_label(world, made)
    commit(world, made, "two {{tone}}")
    return made


def put_label(world: World, prompt_id: int) -> None:
    """Point the label to the newest version."""
    newest = world.get(f"{PROMPTS}/{prompt_id}/versions").json["versions"][0]["commitHash"]
    moved = world.put(f"{PROMPTS}/{prompt_id}/labels/production", json={"commitHash": newest})
    assert moved.status_code == 200, moved.text


def commit(world: World, prompt_id: int, value: str) -> None:
    world.patch(f"{PROMPTS}/{prompt_id}", json={"value": value})
    assert world.post(f"{PROMPTS}/{prompt_id}/commit").status_code == 201


def fields(answer: Result) -> tuple[Any, ...]:
    """What answers to equal requests have in common."""
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in OWN}
    return answer.status, headers, answer.content


def keep(world: World, prompt_id: int, watched: Watched) -> None:
    """Ask until the answers to all of `ASKS` are kept."""
    for ask in ASKS * 2:
        ask(world, prompt_id)
    made = watched.made
    for ask in ASKS:
        ask(world, prompt_id)
    assert watched.made == made


@pytest.mark.parametrize("ask", ASKS)
def test_a_kept_answer_is_the_application_s(world: World, prompt_id: int, watched: Watched, ask: Ask) -> None:
    ask(world, prompt_id)
    first = ask(world, prompt_id)
    made = watched.made
    second, third = ask(world, prompt_id), ask(world, prompt_id)

    assert watched.made == made
    assert fields(first) == fields(second) == fields(third)
    assert first.status_code == (304 if ask is unchanged else 200)
    assert set(first.headers) == set(second.headers)
    ids = {answer.headers["X-Request-Id"] for answer in (first, second, third)}
    assert len(ids) == 3
    assert {len(request_id) for request_id in ids} == {32}


def test_a_kept_answer_has_the_id_that_its_caller_sent(world: World, prompt_id: int, watched: Watched) -> None:
    keep(world, prompt_id, watched)
    for sent, accepted in (("abc-1", True), ("not well\x7fformed", False), ("", False)):
        answer = world.get(f"{PROMPTS}/{prompt_id}", headers={"X-Request-Id": sent})
        assert (answer.headers["X-Request-Id"] == sent) is accepted


def archive(world: World, prompt_id: int) -> None:
    world.delete(f"{PROMPTS}/{prompt_id}")


def erase(world: World, prompt_id: int) -> None:
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)


def unlabel(world: World, prompt_id: int) -> None:
    world.delete(f"{PROMPTS}/{prompt_id}/labels/production")


@pytest.mark.parametrize(
    "change",
    [lambda world, prompt_id: commit(world, prompt_id, "three"), put_label, archive, erase, unlabel],
    ids=["commit", "move of the label", "archive", "erase", "removal of the label"],
)
def test_a_change_is_seen_at_once(
    world: World, prompt_id: int, watched: Watched, monkeypatch: pytest.MonkeyPatch, change: Callable[[World, int], Any]
) -> None:
    keep(world, prompt_id, watched)
    before = [fields(ask(world, prompt_id)) for ask in ASKS]

    change(world, prompt_id)

    after = [fields(ask(world, prompt_id)) for ask in ASKS]
    monkeypatch.setattr(world.client.app, "front", None)
    assert after == [fields(ask(world, prompt_id)) for ask in ASKS]
    assert after != before


def test_an_answer_is_made_again_after_its_model_was_read_again(world: World, prompt_id: int, watched: Watched) -> None:
    keep(world, prompt_id, watched)
    made = watched.made
    world.container.services.models.cache.clear()
    for ask in ASKS:
        ask(world, prompt_id)
    assert watched.made > made


def test_another_organization_and_another_project_do_not_get_it(world: World, prompt_id: int, watched: Watched) -> None:
    keep(world, prompt_id, watched)
    other = new_world(world.container)
    for ask in ASKS:
        assert ask(other, prompt_id).status_code == 404
        assert ask(world, prompt_id).status_code in (200, 304)


def test_a_key_that_may_not_read_or_was_revoked_does_not_get_it(world: World, prompt_id: int, watched: Watched) -> None:
    keep(world, prompt_id, watched)
    keys = world.container.services.keys
    ingest = keys.create(project_id=world.project_id, name="ingest", scopes=frozenset({"ingest"}))
    reader = keys.create(project_id=world.project_id, name="reader", scopes=frozenset({"read"}))
    assert by_get(replace(world, key=ingest.secret), prompt_id).status_code == 403
    assert by_get(replace(world, key=ingest.secret), prompt_id).status_code == 403
    assert by_get(replace(world, key=reader.secret), prompt_id).status_code == 200
    keys.revoke(project_id=world.project_id, key_id=reader.id)
    assert by_get(replace(world, key=reader.secret), prompt_id).status_code == 401
    assert by_get(replace(world, key="rp_wrong"), prompt_id).status_code == 401
    assert by_get(replace(world, key=""), prompt_id).status_code == 401


def test_each_request_is_counted_once_and_refused_over_the_limit(
    world: World, prompt_id: int, watched: Watched
) -> None:
    limit = 9
    limiter = RateLimiter(world.container.redis, limit, metrics=Metrics())
    secret = world.container.services.keys.create(project_id=world.project_id, name="limited").secret
    app = build_app(replace(world.container, limiter=limiter))
    limited = replace(world, client=CheckedClient(app), key=secret)
    left = []
    for number in range(limit):
        if number == limit // 2:
            commit(world, prompt_id, "three")  # what is kept is counted, and then made again
        left.append(int(by_get(limited, prompt_id).headers["RateLimit-Remaining"]))

    assert left == list(reversed(range(limit)))
    for _ in range(2):
        refused = by_get(limited, prompt_id)
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) > 0


def test_kept_answers_are_counted_like_others(world: World, prompt_id: int, watched: Watched) -> None:
    keep(world, prompt_id, watched)
    requests, lookups = Since(world, HTTP_REQUESTS), Since(world, CACHE_LOOKUPS)
    for _ in range(10):
        by_get(world, prompt_id)
        unchanged(world, prompt_id)
        rendered(world, prompt_id)
    counted = requests.moved()
    path = f"{PROMPTS}/{{prompt_id}}"
    assert counted["GET", path, "200"] == 10
    assert counted["GET", path, "304"] == 10
    assert counted["POST", f"{path}/render", "200"] == 10
    assert {labels: by for labels, by in lookups.moved().items() if labels[0] in ("answers", "api_keys")} == {
        ("answers", "hit"): 30,
        ("api_keys", "hit"): 30,
    }


@SQLITE_CONTAINER
def test_what_is_kept_is_bounded(
    world: World, prompt_id: int, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 50_000
    answers: BoundedCache[Any] = BoundedCache(limit)
    monkeypatch.setattr(watched.front, "_answers", answers)
    for number in range(100):
        world.get(f"{PROMPTS}/{prompt_id}", params={"label": "production", "splitKey": f"user {number}"})
        world.post(f"{PROMPTS}/{prompt_id}/render", json={"placeholders": {"tone": f"friendly {number}"}})
    assert 0 < answers._held <= limit

    held = set(answers._entries)
    rendering = f"{PROMPTS}/{prompt_id}/render"
    world.post(rendering, json={"splitKey": "u" * BODY_MAX})
    world.get(f"{PROMPTS}/{prompt_id}", params={"productive": "false"})
    world.get(f"{PROMPTS}/{prompt_id}", params={"label": "none"})
    world.get(f"{PROMPTS}/{prompt_id}/versions")
    assert set(answers._entries) == held, "long requests, drafts, refusals and other paths are not kept"


@SQLITE_CONTAINER
def test_bodies_that_differ_in_their_headers_are_not_the_same_request(
    world: World, prompt_id: int, watched: Watched
) -> None:
    keep(world, prompt_id, watched)
    body = b'{"placeholders": {"tone": "friendly"}}'
    for headers, status in (
        ({"Content-Type": "application/json"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
    ):
        for _ in range(2):
            answer = world.post(f"{PROMPTS}/{prompt_id}/render", body=body, headers=headers)
            assert answer.status_code == status


class _Ends(io.BytesIO):
    def read(self, _size: int | None = -1, /) -> bytes:
        raise TimeoutError("it was sent too slowly.")


@SQLITE_CONTAINER
@pytest.mark.parametrize("stream", [io.BytesIO(b'{"label":'), _Ends()])
def test_a_body_that_ends_early_is_refused(world: World, prompt_id: int, watched: Watched, stream: io.BytesIO) -> None:
    keep(world, prompt_id, watched)
    answers: list[str] = []
    env = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": f"{PROMPTS}/{prompt_id}/render",
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_AUTHORIZATION": f"Bearer {world.key}",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "38",
        "wsgi.input": stream,
        "wsgi.url_scheme": "http",
        "wsgi.errors": io.StringIO(),
    }

    def start(status: str, *_: Any) -> Any:
        answers.append(status)

    chunks = world.client.app(env, start)
    assert answers == ["400 Bad Request"]
    assert b"The body" in b"".join(chunks)


@SQLITE_CONTAINER
def test_requests_are_logged_at_the_level_debug(world: World, prompt_id: int, watched: Watched) -> None:
    keep(world, prompt_id, watched)
    logger = logging.getLogger(REQUEST_LOGGER)
    before, made = logger.level, watched.made
    logger.setLevel(logging.DEBUG)
    try:
        by_get(world, prompt_id)
    finally:
        logger.setLevel(before)
    assert watched.made == made + 1


@SQLITE_CONTAINER
def test_the_paths_are_those_of_the_kept_operations(world: World) -> None:
    app = world.client.app
    assert isinstance(app, RoutedApp)
    kept = {
        (method, route.path)
        for route in app.routes
        for method, responder in route.responders.items()
        if (about := operation_of(responder)) and about.kept
    }
    routes = kept_routes(app.routes)
    matching = {
        (method, route.path)
        for route in app.routes
        for method, kept_route in routes.items()
        if kept_route.path.fullmatch(route.path.replace("{prompt_id}", "7"))
    }
    assert matching == kept
    assert len(kept) == len(routes) == 2
    assert {route.scope for route in routes.values()} == {"read"}


def test_no_reader_gets_less_than_was_acknowledged_before_it_asked(world: World, prompt_id: int) -> None:
    other = replace(world, client=CheckedClient(build_app(world.container)))
    acknowledged, last = 0, 10
    commit(world, prompt_id, "0")
    stop = threading.Event()

    def read(reader: World) -> int:
        looks = 0
        while not stop.is_set():
            least = acknowledged
            assert int(by_get(reader, prompt_id).json["value"]) >= least
            assert int(rendered_by_default(reader, prompt_id)) >= least
            looks += 1
        return looks

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, reader) for reader in (world, other) * 2]
        try:
            for value in range(1, last + 1):
                commit(world, prompt_id, str(value))
                acknowledged = value
        finally:
            stop.set()
        assert all(reader.result() for reader in readers)


def rendered_by_default(world: World, prompt_id: int) -> str:
    return str(world.post(f"{PROMPTS}/{prompt_id}/render").json["instruction"]).splitlines()[1]


def test_the_longest_id_is_a_path() -> None:
    kept = KeptRoute.of(PROMPTS + "/{prompt_id}", "read")
    assert kept.path.fullmatch(f"{PROMPTS}/{2**63 - 1}")
    for path in ("/0", "/07", "/1/", "//1", "/1_0"):
        assert not kept.path.fullmatch(PROMPTS + path)
