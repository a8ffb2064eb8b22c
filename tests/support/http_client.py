"""A small HTTP client for black-box tests: one connection per request, no redirects, no retries."""

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `headers` are found in any case."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to the server at `base_url`, with `api_key` as bearer token unless it is empty.

    `tls` has the trusted certificates; without it requests are not encrypted.
    """

    base_url: str
    api_key: str = ""
    timeout_s: float = 120
    tls: ssl.SSLContext | None = None

    def request(
        self,
        method: str,
        path: str,
        *,
        payload: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer, of whatever status. `payload` goes as JSON, `body` unchanged; OSError without an answer."""
        sent = dict(headers or {})
        if self.api_key:
            sent.setdefault("Authorization", f"Bearer {self.api_key}")
        if payload is not None:
            body = json.dumps(payload).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = self._connection()
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self.base_url).netloc
        if self.tls is None:
            return http.client.HTTPConnection(address, timeout=self.timeout_s)
        return http.client.HTTPSConnection(address, timeout=self.timeout_s, context=self.tls)

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path: str, payload: Any = None, **options: Any) -> Answer:
        return self.request("POST", path, payload=payload, **options)

    def patch(self, path: str, payload: Any = None, **options: Any) -> Answer:
        return self.request("PATCH", path, payload=payload, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        return self.request("DELETE", path, **options)


def serves(base_url: str, path: str = "/health/ready") -> bool:
    """Return whether a server answers there with anything but a server error (5xx)."""
    try:
        return Client(base_url, timeout_s=5).get(path).status < 500
    except (OSError, http.client.HTTPException):
        return False
