"""A run happens once and its answer arrives, whatever happens to requests and connections."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from reprise_client import (
    ConfigurationError,
    ConflictError,
    File,
    InvalidRequestError,
    NotFoundError,
    Piece,
    RateLimitedError,
    RunResult,
    RunTimeoutError,
    ServerError,
    UnreachableError,
)

from tests.clients.python.fakes import ScriptedRuns, client_of
from tests.fakes.json_server import serving
from tests.support.deployment import EmbeddedServer
from tests.support.waiting import free_port

ANSWER = {
    "answer": "Soon.",
    "tokens": {"prompt": 1, "completion": 2, "total": 3},
    "response_time_ms": 5,
    "placeholders": {"resolved": {"tone": None}, "ignored": ["other"]},
    "model": {"id": 1, "name": "echo", "vendor": "BUILTIN"},
    "cost": None,
    "status": "NOK: cut off",
    "toolCalls": [{"id": "1", "name": "find", "arguments": {}}],
}
DONE = (200, ANSWER, {"X-Run-Id": "9"})
EVENTS = {"Content-Type": "text/event-stream", "X-Run-Id": "9"}


def event(kind: str, data: Any, event_id: str = "") -> bytes:
    number = f"id: {event_id}\n" if event_id else ""
    return f"{number}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def refusal(status: int, message: str = "No.", **headers: str) -> tuple[int, Any, dict[str, str]]:
    return status, {"error": message}, {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> ScriptedRuns:
    monkeypatch.setattr("reprise_client.runs.PAUSE_S", 0.01)
    return ScriptedRuns()


@pytest.fixture
def client(kind: str, runs: ScriptedRuns) -> Iterator[Any]:
    with serving(runs.answer) as url, client_of(kind, url) as client:
        yield client


def test_an_answer_has_all_that_the_server_sends(client: Any, runs: ScriptedRuns) -> None:
    runs.answers = [DONE]

    result = client.run(17, "Where is it?", placeholders={"tone": "formal"}, label="live", split_key="user")

    assert (result.run_id, result.answer, result.nok, result.raw) == (9, "Soon.", "cut off", ANSWER)
    assert (result.resolved, result.ignored, result.tool_calls[0]["name"]) == ({"tone": None}, ["other"], "find")
    assert runs.requests[0][3] == {
        "id": 17,
        "question": "Where is it?",
        "placeholders": {"tone": "formal"},
        "productive": True,
        "label": "live",
        "splitKey": "user",
        "files": [],
    }


def test_a_conversation_and_another_model_are_sent_in_the_servers_form(client: Any, runs: ScriptedRuns) -> None:
    runs.answers = [DONE]
    history = [{"role": "user", "text": "Where?"}, {"role": "assistant", "text": "Here."}]

    client.run(17, "When?", history=history, model="echo")

    sent = runs.requests[0][3]
    assert (sent["history"], sent["languageModelName"]) == (history, "echo")


@pytest.mark.parametrize(
    "passing",
    [refusal(503, Retry_After="0"), refusal(429, Retry_After="0"), (502, b"<html>nginx</html>", {})],
    ids=["server away", "rate limit", "proxy"],
)
def test_a_failure_in_passing_is_repeated_as_the_same_run(client: Any, runs: ScriptedRuns, passing: Any) -> None:
    runs.answers = [passing, passing, DONE]

    assert client.run(17, "?").answer == "Soon."

    keys, bodies = runs.headers("Idempotency-Key"), [body for *_, body in runs.requests]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert bodies[0] == bodies[1] == bodies[2]


def test_two_calls_are_two_runs_unless_the_caller_gives_a_key(client: Any, runs: ScriptedRuns) -> None:
    runs.answers = [DONE] * 4

    for options in ({}, {}, {"idempotency_key": "order-1"}, {"idempotency_key": "order-1"}):
        client.run(17, "?", **options)

    first, second, *own = runs.headers("Idempotency-Key")
    assert first != second
    assert own == ["order-1", "order-1"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refusal(400), InvalidRequestError),
        (refusal(413), InvalidRequestError),
        (refusal(404), NotFoundError),
        (refusal(409), ConflictError),
        (refusal(500), ServerError),
        (refusal(502, X_Run_Id="9"), ServerError),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_a_refusal_is_raised_at_once_in_the_servers_words(
    client: Any, runs: ScriptedRuns, answer: Any, expected: type[Exception]
) -> None:
    runs.answers = [answer]

    with pytest.raises(expected, match=r"^No\.$"):
        client.run(17, "?")


def test_what_does_not_go_by_is_raised_in_the_end(client: Any, runs: ScriptedRuns) -> None:
    runs.answers = [refusal(503, "The database is away.")] * 6

    with pytest.raises(ServerError, match="The database is away"):
        client.run(17, "?")
    assert runs.answers == []


def test_a_pause_that_the_server_asks_for_is_not_waited_for_beyond_the_time_limit(
    client: Any, runs: ScriptedRuns
) -> None:
    runs.answers = [refusal(429, Retry_After="50")]

    with pytest.raises(RateLimitedError) as raised:
        client.run(17, "?", timeout_s=10)
    assert raised.value.retry_after_s == 50


def test_a_run_that_the_server_no_longer_waits_for_is_followed(client: Any, runs: ScriptedRuns) -> None:
    done = event("token", {"text": "S"}, "1-0") + event("done", ANSWER, "end")
    runs.answers = [refusal(504, "It goes on.", X_Run_Id="9"), (200, done, EVENTS)]

    assert client.run(17, "?").answer == "Soon."
    assert runs.requests[1][:2] == ("GET", "/api/v1/runs/9/events")


def test_a_stream_yields_pieces_and_ends_with_the_run(client: Any, runs: ScriptedRuns) -> None:
    call = {"id": "1", "name": "find", "arguments": {}}
    text = "a\N{LINE SEPARATOR}b\x85\r\N{GRINNING FACE}"
    runs.answers = [
        (
            200,
            b": run 9\nretry: 1000\n\n"
            + event("reasoning", {"text": "Hm."}, "1-0")
            + b": still in work\n\n"
            + event("token", {"text": text}, "2-0")
            + event("tool_call", call, "3-0")
            + event("done", ANSWER, "end"),
            EVENTS,
        )
    ]

    *pieces, result = client.stream(17, "?")

    assert pieces == [Piece("reasoning", "Hm."), Piece("token", text), Piece("tool_call", tool_call=call)]
    assert isinstance(result, RunResult)
    assert (result.run_id, result.answer) == (9, "Soon.")


def test_a_broken_stream_is_taken_up_where_it_broke(client: Any, runs: ScriptedRuns) -> None:
    first = event("token", {"text": "S"}, "1-0") + b"id: 2-0\nevent: token\nda"
    rest = event("token", {"text": "oon."}, "2-0") + event("done", ANSWER, "end")
    away = event("error", {"error": "The database is away.", "status": 503})
    runs.answers = [(200, first, EVENTS), (200, away, EVENTS), refusal(503), (200, rest, EVENTS)]

    *pieces, result = client.stream(17, "?")

    assert [piece.text for piece in pieces] == ["S", "oon."]
    assert result.answer == "Soon."
    assert runs.headers("Last-Event-ID") == [None, "1-0", "1-0", "1-0"]
    assert len(set(runs.headers("Idempotency-Key"))) == 1


def test_the_error_that_a_run_ends_with_is_raised(client: Any, runs: ScriptedRuns) -> None:
    failed = event("token", {"text": "S"}, "1-0") + event("error", {"error": "Overloaded.", "status": 502}, "end")
    runs.answers = [(200, failed, EVENTS)]

    with pytest.raises(ServerError, match=r"^Overloaded\.$") as raised:
        list(client.stream(17, "?"))
    assert (raised.value.status, raised.value.run_id) == (502, 9)


def test_whoever_waits_too_long_gets_the_id_of_the_run(client: Any, runs: ScriptedRuns) -> None:
    runs.answers = [(200, b": still in work\n\n", EVENTS)]

    with pytest.raises(RunTimeoutError) as raised:
        client.run_result(9, timeout_s=0)
    assert raised.value.run_id == 9


@pytest.mark.parametrize("content", [b"[]", b"", b"<html>", b"[" * 100_000, b'{"answer": 1}', b'{"a": "\xff"}'])
def test_what_is_no_answer_of_reprise_is_reported_so(client: Any, runs: ScriptedRuns, content: bytes) -> None:
    runs.answers = [(200, content, {})]

    with pytest.raises(UnreachableError, match="did not answer as Reprise does"):
        client.run(17, "?")


def test_an_address_without_a_server_is_reported(kind: str, runs: ScriptedRuns) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with client_of(kind, address) as client:
        for call in (client.run, client.start_run, lambda *asked: list(client.stream(*asked))):
            with pytest.raises(UnreachableError, match=f"^{address}: "):
                call(17, "?")


def test_arguments_that_no_request_can_be_made_of_are_refused(client: Any) -> None:
    for call in (lambda: client.run(17, b"bytes"), lambda: client.run_result("9"), lambda: client.run_result(True)):
        with pytest.raises(ConfigurationError):
            call()


@pytest.fixture
def served(kind: str, backend: EmbeddedServer) -> Iterator[tuple[Any, int]]:
    """Yield a client of the real server, and the id of a prompt on a model that repeats the question."""
    api = backend.client()
    made = api.post("/api/v1/prompts", {"name": "Echo", "value": "Be {{tone}}.", "instructionFormat": "RAW"}).json()
    with client_of(kind, api.base_url, api.api_key) as client:
        yield client, made["prompt"]["id"]


def test_the_server_runs_a_prompt_with_files(served: tuple[Any, int]) -> None:
    client, prompt_id = served

    result = client.run(
        prompt_id, "Hello \N{GRINNING FACE}?", placeholders={"x": "y"}, files=[File("a.txt", b"text", "text/plain")]
    )

    assert result.answer == "Hello \N{GRINNING FACE}?"
    assert (result.ignored, result.nok) == (["x"], None)
    assert result.model["name"] == "echo"


def test_the_server_makes_one_run_of_one_key(served: tuple[Any, int]) -> None:
    client, prompt_id = served
    key = f"key-{time.time_ns()}"

    first, second = (client.run(prompt_id, "Hello?", idempotency_key=key) for _ in range(2))

    assert first == second
    with pytest.raises(ConflictError, match="Idempotency-Key"):
        client.run(prompt_id, "Another question", idempotency_key=key)


def test_the_server_streams_an_answer(served: tuple[Any, int]) -> None:
    client, prompt_id = served

    *pieces, result = client.stream(prompt_id, "Hello there you?")

    assert "".join(piece.text for piece in pieces) == result.answer == "Hello there you?"
    assert client.run_result(result.run_id) == result


def test_the_server_begins_a_run_and_its_answer_is_fetched_later(served: tuple[Any, int]) -> None:
    client, prompt_id = served

    run_id = client.start_run(prompt_id, "Later?")

    assert client.run_result(run_id).answer == "Later?"
    with pytest.raises(NotFoundError, match="There is no such run"):
        client.run_result(10**9)


def test_the_server_refuses_a_run_of_what_was_never_committed(kind: str, backend: EmbeddedServer) -> None:
    api = backend.client()
    made = api.post("/api/v1/prompts", {"name": "Draft", "value": "x", "commit": False}).json()
    with client_of(kind, api.base_url, api.api_key) as client:
        with pytest.raises(NotFoundError, match="no committed version"):
            client.run(made["prompt"]["id"], "?")
        assert client.run(made["prompt"]["id"], "Draft?", draft=True).answer == "Draft?"
