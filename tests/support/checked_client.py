"""A test client that holds every exchange with the API to the API's own document."""

from __future__ import annotations

from typing import Any

from falcon.testing import Result, TestClient

from app.api.openapi import build_document
from app.http.route_table import RoutedApp
from tests.support.contract import Contract

# The document is the same for every app: making it needs longer than most tests.
_CONTRACTS: list[Contract] = []


class CheckedClient(TestClient):
    """Fails any test with answers that are not as `@operation` describes them."""

    def __init__(self, app: RoutedApp) -> None:
        super().__init__(app)
        if not _CONTRACTS:
            _CONTRACTS.append(Contract(build_document(app.routes)))
        self._contract = _CONTRACTS[0]

    def simulate_request(self, method: str = "GET", path: str = "/", **sent: Any) -> Result:
        answer = super().simulate_request(method, path, **sent)
        if path.startswith("/api/"):
            problems = self._contract.problems(
                method,
                path.partition("?")[0],
                answer.status_code,
                answer.headers,
                answer.content,
                sent.get("json"),
            )
            assert problems == [], "an answer is not as its @operation describes it"
        return answer
