"""A token reaches its reader while the model is still writing: through a worker, Redis and gunicorn, all real."""

import http.client
import json
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.http_client import Client

TEXT = "one two three four five six seven eight"


@pytest.fixture(params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def client(request, tmp_path, shared_upstream: Upstream) -> Iterator[Client]:
    settings = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": shared_upstream.base_url("OPENAI")}
    if request.param == "embedded":
        with EmbeddedServer(tmp_path, settings) as server:
            yield server.client()
        return
    urls = {name: request.getfixturevalue(name) for name in ("mysql_url", "redis_url")}
    with Deployment(tmp_path, **urls, web=1, workers=1, processes=1, settings=settings) as deployment:
        yield deployment.client()


def events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, dict]]:
    """(kind, data) of each, as soon as it is there."""
    kind = ""
    for line in answer:
        name, _, value = line.decode().strip().partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def test_the_first_token_is_there_before_the_model_has_written_the_rest(client, upstream):
    rest = threading.Event()
    upstream.script(Reply(text=TEXT, held=rest))
    fields = {"name": "S", "value": "Count.", "languageModelName": "gpt-4o-mini"}
    prompt_id = client.post("/api/v1/prompts", fields).json()["prompt"]["id"]
    headers = {"Authorization": f"Bearer {client.api_key}", "Accept": "text/event-stream"}
    connection = http.client.HTTPConnection(urlsplit(client.base_url).netloc, timeout=120)
    try:
        body = json.dumps({"id": prompt_id, "question": "Go on."})
        connection.request("POST", "/api/v1/prompts/run", body, headers | {"Content-Type": "application/json"})
        answer = connection.getresponse()
        seen = events(answer)
        kind, first = next(seen)
        status = client.get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json()["status"]
        rest.set()
        *tokens, (last, done) = seen
    finally:
        rest.set()
        connection.close()

    assert (kind, status) == ("token", "running")
    assert TEXT.startswith(first["text"])
    assert len(first["text"]) < len(TEXT)
    assert first["text"] + "".join(data["text"] for _, data in tokens) == TEXT
    assert (last, done["answer"]) == ("done", TEXT)
