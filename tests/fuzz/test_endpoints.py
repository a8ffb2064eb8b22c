"""Every endpoint with what the API's document allows and with what it forbids: never a 500, never an answer that
is not in the document. Each run asks the same; `FUZZ_EXAMPLES` makes it ask more, `FUZZ_SEED` something else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode

from tests.support import mariadb, redis_server
from tests.support.backends import empty_servers
from tests.support.contract import Contract
from tests.support.deployment import PATIENT, Deployment, EmbeddedServer
from tests.support.full_project import everything, organization
from tests.support.remote_project import RemoteProject

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "12"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
SETTINGS = PATIENT | {"REPRISE_RATE_LIMIT": "10000000", "REPRISE_PAGE_RATE_LIMIT": "10000000"}
# What would end the test itself: its keys, and what the other endpoints are asked about.
LAST = ("delete",)
# What calls a vendor.
ELSEWHERE = "/check"
MISSING = mariadb.missing() or redis_server.missing()


@dataclass(frozen=True)
class Served:
    """A separate server, because the requests leave marks that other tests would see; `owned` are its ids."""

    remote: RemoteProject
    owned: dict[str, Any]

    @classmethod
    def by(cls, server: EmbeddedServer | Deployment) -> Self:
        remote = RemoteProject.administering(server)
        return cls(remote, everything(remote) | organization(remote))


@pytest.fixture
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Served]]:
    """An embedded server and, where this machine has the services, the Procfile's processes."""
    with ExitStack() as started:
        found = [Served.by(started.enter_context(EmbeddedServer(tmp_path / "embedded", SETTINGS)))]
        if MISSING is None:
            urls = started.enter_context(empty_servers(request))
            few = Deployment(tmp_path / "services", **urls, web=1, workers=1, settings=SETTINGS, processes=1)
            found.append(Served.by(started.enter_context(few)))
        yield found


def test_no_request_breaks_an_endpoint(servers: list[Served], require: Callable[[str | None], None]) -> None:
    """Each request is made up once, which lasts longer than to answer it, and sent to all servers."""
    first = servers[0]
    document = first.remote.get("/api/openapi.json").json
    contract = Contract(document)
    schema = schemathesis.openapi.from_dict(document)
    described = [one for result in schema.get_all_operations() if not (one := result.ok()).path.endswith(ELSEWHERE)]
    operations = sorted(described, key=lambda one: one.method in LAST)

    broken = [problem for operation in operations for problem in asked(operation, servers, contract)]

    assert len(operations) > 25
    assert broken == [], f"{len(broken)} requests"
    require(MISSING)


def asked(operation: Any, servers: list[Served], contract: Contract) -> list[str]:
    """Ask the servers for the operation, and return what is wrong with their answers."""
    named = {name: value for name, value in servers[0].owned.items() if f"{{{name}}}" in operation.path}
    broken: list[str] = []

    @seed(SEED)
    @settings(max_examples=EXAMPLES, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=cases(operation, named))
    def ask(case: Case) -> None:
        made_up = case.path_parameters
        about_own = all(made_up.get(name) == value for name, value in named.items())
        for server in servers:
            case.path_parameters = {**made_up, **{name: server.owned[name] for name in named if about_own}}
            broken.extend(_broken(server.remote, case, contract))

    ask()
    return broken


def _broken(remote: RemoteProject, case: Case, contract: Contract) -> list[str]:
    """Return what is wrong with the server's answer, and how to ask it again."""
    sent = case.as_transport_kwargs(base_url=remote.url)
    # Whatever it makes of the security scheme: without a key all answers are the same.
    sent["headers"]["Authorization"] = remote.session.headers["Authorization"]
    response = remote.session.request(**sent, timeout=120)
    problems = contract.problems(
        case.method.upper(),
        case.formatted_path,
        response.status_code,
        response.headers,
        response.content,
        case.body if isinstance(case.body, dict) else None,
    )
    if response.status_code in {500, 503} or problems:
        return [f"{remote.url}: {problems or response.text}\n{case.as_curl_command()}"[:1500]]
    return []


def cases(operation: Any, named: dict[str, Any]) -> st.SearchStrategy[Case]:
    """Requests about what there is and what there is not, as the document has them and as it has them not."""
    about = [named] if "key_id" in named or not named else [named, None]
    return st.one_of(
        operation.as_strategy(mode, path_parameters=parameters)
        for parameters in about
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    )
