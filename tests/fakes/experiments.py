"""An instance over real HTTP that plays experiments as a test wants: each answer to a GET is the next of a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.fakes import json_server
from tests.support.experiments import experiment

FORECAST = {
    "detect": 0.25,
    "testCases": 10,
    "repeats": {"min": 9, "max": 90},
    "replays": {"min": 180, "max": 1800},
    "reused": 90,
    "calls": {"min": 360, "max": 6840},
    "cost": {"min": 0.4, "max": 8.0},
}


class Instance:
    """`seen` has what was asked of it; `states` what GETs of the experiment answer, the last of them for good.

    `replays` are its replays, by id.

    A state is the experiment's JSON, or a status with which a proxy answers for the instance.
    """

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[tuple[str, str, Any]] = []
        self.states: list[Mapping[str, Any] | int] = [experiment()]
        self.replays: dict[str, Mapping[str, Any]] = {}
        self.refusal: tuple[int, str] | None = None
        self.cancelled = False
        self.has_forecasts = True

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        self.seen.append((method, path, body))
        if method == "POST" and path.endswith("/experiments"):
            if self.refusal:
                return self.refusal[0], {"error": self.refusal[1]}
            return 202, {"id": 7, "status": "queued", "promptId": 3}
        if method == "POST" and path.endswith("/forecast"):
            return (200, FORECAST) if self.has_forecasts else (404, {"error": "There is no such path."})
        if method == "POST" and path.endswith("/cancel"):
            self.cancelled = True
            self.states = [experiment(status="cancelled", verdict=None)]
            return 200, self.states[0]
        if path.startswith("/api/v1/prompts/3/test-cases"):
            return 200, {"testCases": [{"id": 12, "name": "Where?"}, {"id": 13, "name": "When?"}], "nextCursor": None}
        if path.startswith("/api/v1/replays/"):
            replay = self.replays.get(path.rpartition("/")[2])
            return (200, replay) if replay else (404, {"error": "There is no such replay."})
        if path == "/api/v1/prompts/3/versions":
            return 200, {"versions": [{"commitHash": "a" * 64}, {"commitHash": "4f53a0b1".ljust(64, "0")}]}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return (state, {"error": "The proxy sees nobody."}) if isinstance(state, int) else (200, state)

    @property
    def asked(self) -> Any:
        """The body that started the experiment."""
        return next(body for method, path, body in self.seen if method == "POST" and path.endswith("/experiments"))


@contextmanager
def serving() -> Iterator[Instance]:
    instance = Instance()
    with json_server.serving(lambda method, path, _, body: instance.answer(method, path, body)) as url:
        instance.url = url
        yield instance
