"""A project that holds as much of everything as its limits allow, and somebody who asks for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from falcon.testing import Result, TestClient

from app.http.route_table import RoutedApp
from app.models import search
from app.process.application import build_app
from app.process.bootstrap import freeze_gc
from app.services.accounts.sign_in_attempts import Origin
from app.services.prompts.labels import LABELS_MAX
from app.sessions.said import TEXT_MAX
from app.web.cookies import SESSION_COOKIE
from app.web.forms import csrf_token
from bench.worst import texts
from config.settings import Settings
from tests.support.api_routes import NOTHING, filled
from tests.support.everything import everything, organization
from tests.support.world import World, new_world, running, settings_for

EMAIL, PASSWORD = "ada@example.org", "correct horse battery"
QUIET_S = 0.05
# Sessions with texts as long as the search reads.
LONG_TEXTS = 100


@dataclass
class Stage:
    """`ids` fill the paths: of a small project where nothing large is named."""

    world: World
    app: RoutedApp
    client: TestClient
    cookies: dict[str, str]
    ids: dict[str, Any] = field(default_factory=dict)

    @property
    def csrf(self) -> str:
        return csrf_token(self.cookies[SESSION_COOKIE])

    def made(self, path: str, body: Any) -> Any:
        """What the API made of the body."""
        answer = self.world.post(path, json=body)
        if answer.status_code not in (200, 201):
            raise SystemExit(f"{path}: {answer.status} {answer.text[:500]}")
        return answer.json

    def send(self, method: str, template: str, ask: Any) -> tuple[int, float]:
        """The status, and the seconds of processor time of this process until nothing more is in work."""
        ids = {name: str(value).format(**self.ids) for name, value in ask.ids.items()}
        path = filled(template, NOTHING | self.ids | ids)
        headers = {"Content-Type": ask.content_type, **self.world.headers, **ask.headers}
        options: dict[str, Any] = {"body": ask.body} if method != "GET" else {}
        started = time.process_time()
        answer = self.client.simulate_request(
            method, path, query_string=ask.query, headers=headers, cookies=self.cookies, **options
        )
        _drain(answer)
        took = time.process_time() - started
        return answer.status_code, took + _quiet()


def _drain(answer: Result) -> None:
    """Read a streamed answer to its end."""
    len(answer.content)


def _quiet() -> float:
    """What the process still does after the answer; what threads do that wait is not counted."""
    took = 0.0
    while True:
        started = time.process_time()
        time.sleep(QUIET_S)
        busy = time.process_time() - started
        if busy < QUIET_S / 3:
            return took
        took += busy


def _patient(folder: Path) -> Settings:
    """Who waits for a batch waits until it is stored, so that all its work is counted with it."""
    return replace(settings_for(folder), ingest_wait_s=300)


@contextmanager
def stage() -> Iterator[Stage]:
    with TemporaryDirectory() as folder, running(_patient(Path(folder))) as container:
        world = new_world(container)
        world.member(EMAIL, PASSWORD)
        cookie = container.services.sign_ins.sign_in(email=EMAIL, password=PASSWORD, origin=Origin("127.0.0.1")).token
        app = build_app(container)
        made = Stage(world, app, TestClient(app), {SESSION_COOKIE: cookie})
        made.ids |= organization(world) | everything(world)
        made.ids |= {"project_id": world.project_id, "name": "app.css"}
        _large(made)
        freeze_gc()  # as the servers do once they are built
        yield made


def _large(made: Stage) -> None:
    """Ids of what is large: `long_…` and `big_…`."""
    made.ids |= _big_prompt(made) | _long_session(made) | _long_texts(made)
    while _waits(made):
        made.world.container.services.search_indexer.sweep()


def _waits(made: Stage) -> bool:
    """Whether words of turns are not in the index of the search yet."""
    with made.world.container.database.read() as connection:
        return bool(search.waiting_projects(connection))


def _long_texts(made: Stage) -> Mapping[str, Any]:
    """Sessions and runs of a prompt that say as much as the search reads of each text."""
    prompt_id = made.world.prompt()
    for _ in range(LONG_TEXTS // 10):
        answer = made.world.send(texts.long_turns(prompt_id, 10))
        if answer.status_code != 200:
            raise SystemExit(answer.text[:500])
        for question in ("no yes " * (TEXT_MAX // 7), texts.LETTERS * (TEXT_MAX // len(texts.LETTERS))):
            made.made("/api/v1/prompts/run", {"id": prompt_id, "question": question, "productive": False})
    return {"long_texts": prompt_id}


def _big_prompt(made: Stage) -> Mapping[str, Any]:
    body = texts.big_prompt()
    prompt_id = made.made("/api/v1/prompts", body)["prompt"]["id"]
    first = made.world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    made.world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": texts.changed(body["value"])})
    made.made(f"/api/v1/prompts/{prompt_id}/commit", {})
    for number in range(LABELS_MAX):
        made.world.put(f"/api/v1/prompts/{prompt_id}/labels/{number:064}", json={"commitHash": first})
    return {"big_prompt": prompt_id, "big_first": first}


def _long_session(made: Stage) -> Mapping[str, Any]:
    prompt_id = made.world.prompt()
    made.made(f"/api/v1/prompts/{prompt_id}/commit", {})
    for start in range(0, texts.TURNS, 1_000):
        answer = made.world.send(texts.turns(prompt_id, start, 1_000))
        if answer.status_code != 200:
            raise SystemExit(answer.text[:500])
    entries = made.world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return {"long_prompt": prompt_id, "long_session": entries[0]["id"]}
