"""A Reprise in this process, for tests that look inside: the real API and actors on whichever backend."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dramatiq
import pytest
from argon2 import PasswordHasher
from falcon.testing import Result, TestClient
from sqlalchemy import text

from app.http.route_table import RoutedApp
from app.models import language_models, organizations, prompts, schema, users
from app.models.organizations import Role
from app.models.queries import insert_row
from app.process.application import build_app
from app.process.bootstrap import bootstrap
from app.providers.router import Providers
from app.services.accounts.keys import SCOPES
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.timestamps import Now
from app.wiring.container import Container
from config.settings import Settings
from tests.support import protobuf
from tests.support.backends import empty_servers
from tests.support.checked_client import CheckedClient
from tests.support.waiting import PATIENCE_S

ECHO = {
    "vendor": "BUILTIN",
    "name": "echo",
    "prompt_price": 0,
    "completion_price": 0,
    "context_tokens_max": 128_000,
    "completion_tokens_max": 16_000,
    "description": "",
    "details": {},
}


# Of each container, by its id: making an app needs longer than most tests. The containers keep their ids from others.
_APPS: dict[int, tuple[Container, RoutedApp]] = {}


@dataclass(frozen=True)
class World:
    """A new organization with a project and a key, on a container that other tests share."""

    container: Container
    client: TestClient
    organization_id: int
    project_id: int
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def get(self, path: str, **kwargs: Any) -> Result:
        return self.client.simulate_get(path, headers=self.headers | kwargs.pop("headers", {}), **kwargs)

    def post(self, path: str, **kwargs: Any) -> Result:
        return self.client.simulate_post(path, headers=self.headers | kwargs.pop("headers", {}), **kwargs)

    def patch(self, path: str, **kwargs: Any) -> Result:
        return self.client.simulate_patch(path, headers=self.headers | kwargs.pop("headers", {}), **kwargs)

    def put(self, path: str, **kwargs: Any) -> Result:
        return self.client.simulate_put(path, headers=self.headers | kwargs.pop("headers", {}), **kwargs)

    def delete(self, path: str, **kwargs: Any) -> Result:
        return self.client.simulate_delete(path, headers=self.headers | kwargs.pop("headers", {}), **kwargs)

    def send(self, batch: bytes | dict[str, Any], **headers: str) -> Result:
        """POST a trace batch."""
        body = batch if isinstance(batch, bytes) else json.dumps(batch).encode()
        sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.post("/api/public/otel/v1/traces", body=body, headers=sent)

    def send_to(self, prompt_id: int, body: bytes, **headers: str) -> Result:
        """POST a trace batch, in protobuf unless the headers have another type, to the address of a prompt."""
        sent = {"Content-Type": "application/x-protobuf"} | {k.replace("_", "-"): v for k, v in headers.items()}
        return self.post(f"/api/public/prompts/{prompt_id}/otel/v1/traces", body=body, headers=sent)

    def log(self, records: list[dict[str, Any]], prompt_id: int | None = None) -> Result:
        """POST log records: in protobuf to the address of a prompt, else as JSON to that without one."""
        batch = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "test"}, "logRecords": records}]}]}
        if prompt_id is None:
            return self.post("/api/public/otel/v1/logs", json=batch)
        path = f"/api/public/prompts/{prompt_id}/otel/v1/logs"
        return self.post(path, body=protobuf.logs(batch), headers={"Content-Type": "application/x-protobuf"})

    def prompt(self) -> int:
        """A new prompt that was never committed."""
        with self.container.database.write() as connection:
            model_id = language_models.find_models_named(connection, organization_id=self.organization_id, name="echo")[
                0
            ].id
            values = {
                "project_id": self.project_id,
                "name": "A prompt",
                "instruction_format": "XML",
                "assertion_value": "",
                "value": "Be helpful.",
                "language_model_id": model_id,
                "config": {},
                "placeholders": [],
                "created_at": self.container.now(),
                "updated_at": self.container.now(),
            }
            return insert_row(connection, prompts.prompts, **values)

    def member(self, email: str, password: str = "correct horse battery") -> None:
        """Makes an admin of the organization who can sign in."""
        accounts = self.container.services.accounts
        accounts.ensure_admin(organization_id=self.organization_id, email=email, password=password, name="Ada")

    def session_of(self, role: Role) -> str:
        """The token of a session of a new user with the role in the organization, who has no password."""
        now = self.container.now()
        with self.container.database.write() as connection:
            email = f"{secrets.token_hex(6)}@example.org"
            new = {"email": email, "name": "Ada", "password_hash": "none", "created_at": now}
            user = insert_row(connection, users.users, **new)
            member = {"organization_id": self.organization_id, "user_id": user, "role": role, "created_at": now}
            insert_row(connection, organizations.memberships, **member)
        return self.container.services.sign_ins.start(user, SignInOrigin("127.0.0.1"), way="password").token

    def count(self, table: str) -> int:
        """Rows of the project in `table`."""
        with self.container.database.read() as connection:
            statement = text(f"SELECT COUNT(*) FROM {table} WHERE project_id = :id")
            return int(connection.execute(statement, {"id": self.project_id}).scalar_one())


def settings_for(home: Path, *, mysql_url: str = "", redis_url: str = "") -> Settings:
    return Settings(
        home=home,
        database_url=mysql_url,
        redis_url=redis_url,
        rate_limit=1_000_000,
        page_rate_limit=1_000_000,
        secret_key="test",
        webhook_networks="127.0.0.0/8",
        request_s=PATIENCE_S,
        ingest_wait_s=PATIENCE_S,
    )


class QuickHasher(PasswordHasher):
    """Hashes by the same algorithm at its lowest cost, as most tests of pages sign in several people."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)


@contextmanager
def running(
    settings: Settings, *, queues: Sequence[str] = (), providers: Providers | None = None
) -> Iterator[Container]:
    """A container on an upgraded database with a Dramatiq worker in this process, which hashes passwords quickly."""
    with patch("app.services.accounts.passwords.PasswordHasher", QuickHasher):
        container = bootstrap(settings, providers=providers)
    schema.upgrade(container.database)
    with container.database.write() as connection:
        language_models.put_catalogue(connection, entries=[ECHO], now=container.now())
    worker = dramatiq.Worker(container.broker, queues=set(queues) or None, worker_threads=8)
    worker.start()
    try:
        yield container
    finally:
        worker.stop(timeout=1000 * PATIENCE_S)
        container.close()
        _APPS.pop(id(container), None)


def beside(container: Container, *, now: Now | None = None, **settings: Any) -> Container:
    """Another process's container on the same database and Redis, with another clock or other settings.

    It counts by the first container's metrics: its own would start a thread, which only `close` ends.
    """
    return bootstrap(
        replace(container.settings, **settings),
        now=now or container.now,
        database=container.database,
        redis=container.redis,
        metrics=container.metrics,
    )


@contextmanager
def running_on(
    request: pytest.FixtureRequest,
    home: Path,
    settings: Callable[..., Settings],
    providers: Providers | None = None,
) -> Iterator[Container]:
    """`running` on the backend that the fixture's parameter names; `settings` gets mysql_url and redis_url."""
    if request.param != "services":
        with running(settings(home), providers=providers) as container:
            yield container
        return
    with empty_servers(request) as urls, running(settings(home, **urls), providers=providers) as container:
        yield container


def new_world(container: Container) -> World:
    now = container.now()
    with container.database.write() as connection:
        organization_id = insert_row(connection, organizations.organizations, name="Ada & Söhne", created_at=now)
        project = {"organization_id": organization_id, "name": "P", "created_at": now}
        project_id = insert_row(connection, organizations.projects, **project)
    key = container.services.keys.create(project_id=project_id, name="test", scopes=SCOPES).secret
    return World(container, CheckedClient(_app_of(container)), organization_id, project_id, key)


def _app_of(container: Container) -> RoutedApp:
    if id(container) not in _APPS:
        _APPS[id(container)] = container, build_app(container)
    return _APPS[id(container)][1]
