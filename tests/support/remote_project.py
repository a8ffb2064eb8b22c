"""A project on a running server, spoken to as `World` speaks to one in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import requests

from app.services.accounts.keys import SCOPES
from tests.support.deployment import Deployment, EmbeddedServer, environment, run_to_end


@dataclass(frozen=True)
class Answer:
    response: requests.Response

    @property
    def status_code(self) -> int:
        return self.response.status_code

    @property
    def text(self) -> str:
        return self.response.text

    @property
    def json(self) -> Any:
        return self.response.json()

    @property
    def headers(self) -> Any:
        return self.response.headers


class RemoteProject:
    """Speaks to a running server as the project of a key; keeps its connection."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {key}"

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, *, json: Any) -> Answer:
        return self.ask("POST", path, json=json)

    def put(self, path: str, *, json: Any) -> Answer:
        return self.ask("PUT", path, json=json)

    def send(self, batch: bytes) -> Answer:
        headers = {"Content-Type": "application/json"}
        return self.ask("POST", "/api/public/otel/v1/traces", data=batch, headers=headers)

    def ask(self, method: str, path: str, **sent: Any) -> Answer:
        return Answer(self.session.request(method, self.url + path, timeout=120, **sent))

    @classmethod
    def administering(cls, server: EmbeddedServer | Deployment) -> Self:
        """As `of`, with a key that may do everything."""
        env = server.env if isinstance(server, Deployment) else environment(server.home)
        scopes = [word for scope in sorted(SCOPES) for word in ("--scope", scope)]
        return cls(server.url, run_to_end(["reprise", "keys", "create", "Everything", *scopes], env).strip())

    @classmethod
    def of(cls, server: EmbeddedServer | Deployment) -> Self:
        """Its demo project."""
        return cls(server.url, server.client().api_key)
