"""An experiment is followed to its end at another web process than the one that started it, all of them real."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.runs.test_runs_stream_processes import events
from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.http_client import Client


@pytest.fixture(params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def clients(
    request: pytest.FixtureRequest, tmp_path: Path, shared_upstream: Upstream
) -> Iterator[tuple[Client, Client]]:
    """One that starts and one that follows."""
    settings = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": shared_upstream.base_url("OPENAI")}
    if request.param == "embedded":
        with EmbeddedServer(tmp_path, settings) as server:
            yield server.client(), server.client()
        return
    urls = {name: request.getfixturevalue(name) for name in ("mysql_url", "redis_url")}
    with Deployment(tmp_path, **urls, web=2, workers=1, processes=1, settings=settings) as deployment:
        yield deployment.client(), deployment.client(web=1)


def test_each_change_comes_while_it_goes_on_and_the_stream_ends_with_it(
    clients: tuple[Client, Client], upstream: Upstream
) -> None:
    answers = threading.Event()
    upstream.choose = lambda body: Reply(text="Ping", held=answers)
    starting, following = clients
    fields = {"name": "S", "value": "Answer.", "languageModelName": "gpt-4o-mini"}
    prompt = f"/api/v1/prompts/{starting.post('/api/v1/prompts', fields).json()['prompt']['id']}"
    starting.post(f"{prompt}/test-cases", {"question": "Ping", "expectedAnswer": "Ping"})
    path = starting.post(f"{prompt}/experiments", {"repeats": {"min": 3, "max": 3}}).headers["Location"]

    connection = http.client.HTTPConnection(urlsplit(following.base_url).netloc, timeout=120)
    try:
        connection.request("GET", f"{path}/events", headers={"Authorization": f"Bearer {following.api_key}"})
        answer = connection.getresponse()
        seen = events(answer)
        first = next(seen)
        answers.set()
        found = [first, *seen]
        assert answer.read() == b""
    finally:
        answers.set()
        connection.close()

    assert answer.headers["Content-Type"] == "text/event-stream"
    *progress, (last, whole) = found
    assert {kind for kind, _ in progress} == {"progress"}
    assert progress[0][1]["progress"] == {"done": 0, "total": 3}
    assert (last, whole["verdict"]) == ("done", "passed")
    assert whole == starting.get(path).json()
