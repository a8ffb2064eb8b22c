"""An export has everything that the API shows, one JSON object a line, whatever the number of pages. It is read while
the caller reads the answer, and leaves nothing behind when the caller goes away."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import falcon.testing
import pytest
from sqlalchemy import event

from app.errors import Unavailable
from app.http.exports import EXPORTS_PER_ORGANIZATION, PIECE, STALLED_S, records
from app.models import cases, language_models
from app.models.cases import TestCaseRow
from app.services.data import export as service
from app.services.sessions.service import SessionService
from app.timestamps import iso
from tests.support.conversations import export as conversation
from tests.support.deployment import EmbeddedServer
from tests.support.full_project import TURNS, everything
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

LARGE = 400_000


def path_of(kind: str, prompt_id: int) -> str:
    return f"/api/v1/prompts/{prompt_id}/exports/{kind}"


def exported(world: World, kind: str, prompt_id: int, **times: str) -> list[dict[str, Any]]:
    answer = world.get(path_of(kind, prompt_id), params=times)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize(
    ("kind", "path", "id_"),
    [
        ("sessions", "/api/v1/sessions", "session_id"),
        ("runs", "/api/v1/runs", "run_id"),
        ("test-cases", "/api/v1/test-cases", "test_case_id"),
    ],
)
def test_each_record_is_as_the_api_answers_it(world: World, kind: str, path: str, id_: str) -> None:
    made = everything(world)
    [record] = exported(world, kind, made["prompt_id"])
    assert record == world.get(f"{path}/{made[id_]}").json


def test_an_export_of_sessions_reads_the_prices_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = everything(world)["prompt_id"]
    for number in range(3):
        batch = conversation(prompt_id, f"more {number}", TURNS, start_ns=1_770_000_000_000_000_000 + number)
        assert world.send(batch).status_code == 200
    read = Mock(wraps=language_models.priced_models_of_project)
    monkeypatch.setattr(language_models, "priced_models_of_project", read)

    assert len(exported(world, "sessions", prompt_id)) == 4
    assert read.call_count == 1


def test_an_export_reads_a_test_case_after_the_line_of_the_previous_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, read = everything(world), list[TestCaseRow | None]()
    for _ in range(2):
        assert world.post(f"/api/v1/test-cases/{made['test_case_id']}/copy", json={}).status_code == 201
    find, of_export = cases.find_test_case, threading.get_ident()

    def found(*args: Any, **which: Any) -> TestCaseRow | None:
        row = find(*args, **which)
        if threading.get_ident() == of_export:  # the threads of the clock read test cases, too
            read.append(row)
        return row

    monkeypatch.setattr(cases, "find_test_case", found)
    which = {"project_id": world.project_id, "prompt_id": made["prompt_id"]}

    for number, _line in enumerate(records(world.container.services.export, "test-cases", **which), 1):
        assert len(read) == number
    assert len(read) == 3


def test_it_is_a_file_of_json_lines(world: World) -> None:
    prompt_id = everything(world)["prompt_id"]
    answer = world.get(path_of("runs", prompt_id))
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="runs-{prompt_id}.jsonl"'
    assert answer.text.endswith("\n")


def test_every_page_is_exported_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "ROWS_PER_PAGE", 3)
    prompt_id = seven_sessions(world)
    ids = [record["id"] for record in exported(world, "sessions", prompt_id)]
    assert len(ids) == len(set(ids)) == 7


def test_test_cases_and_runs_go_over_pages_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "ROWS_PER_PAGE", 2)
    made = everything(world)
    for place in range(4):
        world.post(f"/api/v1/test-cases/{made['test_case_id']}/copy", json={})
        world.post("/api/v1/prompts/run", json={"id": made["prompt_id"], "question": str(place)})
    assert len({record["id"] for record in exported(world, "test-cases", made["prompt_id"])}) == 5
    assert [record["question"] for record in exported(world, "runs", made["prompt_id"])][:4] == ["3", "2", "1", "0"]


def test_an_archived_prompt_is_exported(world: World) -> None:
    made = everything(world)
    world.delete(f"/api/v1/prompts/{made['prompt_id']}")
    assert len(exported(world, "runs", made["prompt_id"])) == 1
    assert [each["id"] for each in exported(world, "test-cases", made["prompt_id"])] == [made["test_case_id"]]


def test_what_was_asked_for_after_the_end_is_left_out(world: World) -> None:
    made, now = everything(world), iso(world.container.now())
    assert exported(world, "runs", made["prompt_id"], since="2200-01-01T00:00:00Z") == []
    assert len(exported(world, "sessions", made["prompt_id"], until=now)) == 1


def test_another_projects_prompt_is_not_found(world: World) -> None:
    made, stranger = everything(world), new_world(world.container)
    for kind in ("sessions", "runs", "test-cases"):
        assert stranger.get(path_of(kind, made["prompt_id"])).status_code == 404


@pytest.mark.parametrize(
    ("kind", "query", "status", "words"),
    [
        ("secrets", "", 404, "sessions, runs or test-cases"),
        ("runs", "since=yesterday", 400, "since: "),
        ("runs", "since=2026-01-01T00:00:00", 400, "since: "),
        ("sessions", "limit=5", 400, "limit: "),
        ("test-cases", "until=2026-01-01T00:00:00Z", 400, "test cases have no time"),
    ],
)
def test_a_bad_request_is_refused_before_the_first_line(
    world: World, kind: str, query: str, status: int, words: str
) -> None:
    answer = world.get(path_of(kind, world.prompt()), query_string=query)
    assert answer.status_code == status
    assert words in answer.json["error"]


def test_it_is_read_page_by_page_while_it_is_taken(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "ROWS_PER_PAGE", 3)
    prompt_id, queries = seven_sessions(world), Queries(world)
    with queries:
        body = begun(world, path_of("sessions", prompt_id))
        before = queries.seen
        assert before <= 4, "the key, the prompt: no session is read before the caller reads the body"
        next(body)
        first = queries.seen
        next(body)
        second = queries.seen
        rest = list(body)
    assert before < first < second < queries.seen
    assert len(rest) == 5


def test_between_two_records_no_connection_is_in_use(world: World) -> None:
    prompt_id = seven_sessions(world)
    body = begun(world, path_of("sessions", prompt_id))
    next(body)
    wait_until(lambda: world.container.database.connections()["in_use"] == 0, "the connection is back")
    body.close()
    assert list(body) == []


def test_a_long_record_goes_out_in_pieces(world: World) -> None:
    body = {"name": "Long", "value": "x" * LARGE, "commit": False}
    prompt_id = world.post("/api/v1/prompts", json=body).json["prompt"]["id"]
    world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "y", "productive": False})

    pieces = list(begun(world, path_of("runs", prompt_id)))

    assert len(pieces) > LARGE // PIECE
    assert max(map(len, pieces)) == PIECE
    [run] = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert "x" * LARGE in run["instruction"]


def test_a_caller_that_reads_nothing_is_cut_off_in_the_end(world: World) -> None:
    here, there = socket.socketpair()
    with here, there:
        begun(world, path_of("runs", world.prompt()), **{"gunicorn.socket": here}).close()
        assert here.gettimeout() == STALLED_S


def test_a_fault_midway_ends_the_answer_instead_of_looking_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    body = begun(world, path_of("sessions", seven_sessions(world)))
    next(body)

    def away(_sessions: SessionService, **_asked: object) -> None:
        raise Unavailable("The database is not available; try again.")

    monkeypatch.setattr(SessionService, "opened", away)

    with pytest.raises(Unavailable):
        list(body)
    body.close()


def test_it_counts_as_one_request(world: World) -> None:
    prompt_id = seven_sessions(world)
    answers = [world.get(path_of("sessions", prompt_id)) for _ in range(2)]
    first, second = (int(answer.headers["RateLimit-Remaining"]) for answer in answers)
    assert first - second == 1


def test_exports_beyond_the_limit_are_asked_to_come_back(world: World) -> None:
    path = path_of("sessions", seven_sessions(world))
    under_way = [begun(world, path) for _ in range(EXPORTS_PER_ORGANIZATION)]

    refused = world.get(path)
    for body in under_way:
        body.close()

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert "exports" in refused.json["error"]
    assert world.get(path).status_code == 200


def test_callers_who_go_midway_leave_their_place(backend: EmbeddedServer) -> None:
    client = backend.client()
    made = client.post("/api/v1/prompts", {"name": "Long", "value": "x" * LARGE, "languageModelName": "echo"}).json()
    prompt_id = made["prompt"]["id"]
    for _ in range(20):
        answer = client.post("/api/v1/prompts/run", {"id": prompt_id, "question": "y" * LARGE})
        assert answer.status == 200, answer.body
    path = path_of("runs", prompt_id)

    for _ in range(4 * EXPORTS_PER_ORGANIZATION):
        wait_until(lambda: go_midway(client.base_url, path, client.api_key) == 200, "a place for an export")

    wait_until(lambda: client.get(path).status == 200, "all places are free again")
    assert len(client.get(path).body.splitlines()) == 20


def go_midway(base_url: str, path: str, api_key: str) -> int:
    """Read the beginning of the answer, close the connection, and return the status."""
    address = urlsplit(base_url)
    with socket.create_connection((address.hostname, address.port), timeout=120) as caller:
        caller.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api_key}\r\n\r\n".encode())
        return int(caller.recv(1000).split()[1])


def seven_sessions(world: World) -> int:
    prompt_id = world.prompt()
    for place in range(7):
        world.send(conversation(prompt_id, f"c{place}", TURNS, start_ns=1_760_000_000_000_000_000 + place % 3))
    return prompt_id


def begun(world: World, path: str, **environment: Any) -> Any:
    """The body of an answer of which nothing has been taken yet."""
    environ = falcon.testing.create_environ(path, headers=world.headers) | environment
    return Body(world.client.app(environ, lambda *_args: None))


class Body:
    """Reads a body as a server does: line by line, and closes it."""

    def __init__(self, body: Any) -> None:
        self._body, self._lines = body, iter(body)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line: bytes | None = next(self._lines, None)
        if line is None:
            self.close()
            raise StopIteration
        return line

    def close(self) -> None:
        self._body.close()
        self._lines = iter(())


class Queries:
    """Counts what the databases of a container are asked."""

    def __init__(self, world: World) -> None:
        database = world.container.database
        self._engines = {database.engine, database._reader}
        self.seen = 0

    def __enter__(self) -> None:
        for engine in self._engines:
            event.listen(engine, "before_cursor_execute", self._count)

    def __exit__(self, *_error: object) -> None:
        for engine in self._engines:
            event.remove(engine, "before_cursor_execute", self._count)

    def _count(self, *_statement: object) -> None:
        self.seen += 1
