"""Errors that passing time mends ask the caller to come back, and name when; no others do."""

import falcon
import pytest
import redis
from falcon.testing import TestClient

from app import errors
from app.http import errors as handlers


class Raising:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (errors.RateLimited("slow down", 17), 429, "17"),
        (errors.Unavailable("no database"), 503, "1"),
        (redis.ConnectionError("no Redis"), 503, "1"),
        (redis.TimeoutError("a Redis that hangs"), 503, "1"),
        # A model may have been paid for already: the caller decides whether to ask once more.
        (errors.ProviderError("refused"), 502, None),
        (errors.ProviderTimeout("too slow"), 504, None),
        (errors.WaitTimeout("it goes on"), 504, None),
        (errors.Conflict("not now"), 409, None),
        (ValueError("a bug"), 500, None),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/prompts", "/api/public/otel/v1/traces"])
def test_an_error_names_when_to_come_back(error: Exception, status: int, retry_after: str | None, path: str) -> None:
    app = falcon.App()
    handlers.install(app)
    app.add_route(path, Raising(error))

    answer = TestClient(app).simulate_get(path)

    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
    assert answer.json["error"]
