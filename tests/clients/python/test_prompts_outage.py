"""An application renders on while Reprise is killed, hangs and comes back, and knows how fresh its prompts are."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from reprise_client import Rendered

from tests.clients.python.fakes import client_of
from tests.support.deployment import EmbeddedServer
from tests.support.waiting import wait_until

TEXT = "# Role\nBe {{tone}} & brief.\n# Rules\n" + "* Be helpful.\n" * 50
NEW = {
    "name": "Support",
    "value": TEXT,
    "placeholders": [{"key": "tone", "values": [{"name": "formal", "content": "formal", "isDefault": True}]}],
}
RENDERS_A_SECOND = 100


class Application:
    """Renders a prompt a hundred times a second until it is stopped; any error ends it, and fails the test."""

    def __init__(self, client: Any, prompt_id: int) -> None:
        self._client, self._prompt_id = client, prompt_id
        self.states: Counter[str] = Counter()
        self.latest: Rendered | None = None
        self.problem: Exception | None = None
        self.failure: Exception | None = None
        self._stopped = threading.Event()

    @contextmanager
    def running(self) -> Iterator[Application]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            thread.join()
        assert self.failure is None, self.failure

    def serves(self, state: str, number: int = RENDERS_A_SECOND) -> None:
        """Wait until it was served a state so many times more."""
        goal = self.states[state] + number
        wait_until(lambda: self.failure or self.states[state] >= goal, f"{number} renderings that are {state}")

    def _run(self) -> None:
        while not self._stopped.wait(1 / RENDERS_A_SECOND):
            try:
                prompt = self._client.prompt(self._prompt_id)
                self.latest, self.problem = prompt.render(tone="formal"), prompt.problem
            except Exception as failure:  # noqa: BLE001 - of any kind
                self.failure = failure
                return
            self.states[self.latest.state] += 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "home") as server:
        yield server


def test_no_rendering_fails_while_the_server_is_killed_hangs_and_comes_back(kind: str, server: EmbeddedServer) -> None:
    api = server.client()
    prompt_id = api.post("/api/v1/prompts", NEW).json()["prompt"]["id"]
    expected = api.post(f"/api/v1/prompts/{prompt_id}/render").json()["instruction"]
    options = {"fresh_s": 0.3, "timeout_s": 0.5}
    with (
        client_of(kind, api.base_url, api.api_key, **options) as client,
        Application(client, prompt_id).running() as application,
    ):
        application.serves("fresh")

        server.process.kill()
        wait_until(lambda: application.problem, "the loss of the server")
        application.serves("stale")
        assert application.latest
        assert (application.latest.instruction, application.latest.state) == (expected, "stale")
        assert application.states.keys() <= {"fresh", "stale"}

        server.process.restart()
        application.serves("fresh")

        server.process.pause()
        wait_until(lambda: application.problem, "the silence of the server")
        application.serves("stale")
        server.process.resume()
        application.serves("fresh")

        api.patch(f"/api/v1/prompts/{prompt_id}", {"value": "Changed."})
        api.post(f"/api/v1/prompts/{prompt_id}/commit")
        wait_until(lambda: "Changed." in application.latest.instruction, "the new version")
