"""Every endpoint with what the API's document allows and with what it forbids: never a 500, never an answer that
is not in the document. Each run asks the same; `FUZZ_EXAMPLES` makes it ask more, `FUZZ_SEED` something else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode

from tests.support.contract import Contract
from tests.support.deployment import PATIENT, server_on
from tests.support.everything import everything, organization
from tests.support.remote_project import RemoteProject

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "12"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
SETTINGS = PATIENT | {"REPRISE_RATE_LIMIT": "10000000", "REPRISE_PAGE_RATE_LIMIT": "10000000"}
# What would end the test itself: its keys, and what the other endpoints are asked about.
LAST = ("delete",)
# What calls a vendor.
ELSEWHERE = "/check"


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def remote(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteProject]:
    """A server of its own: what is asked of it here is not fit for the eyes of other tests."""
    home = tmp_path_factory.mktemp(f"fuzz-{request.param}")
    with server_on(request, home, SETTINGS, web=1, workers=1, processes=1) as server:
        yield RemoteProject.administering(server)


def test_no_request_breaks_an_endpoint(remote: RemoteProject) -> None:
    document = remote.get("/api/openapi.json").json
    contract = Contract(document)
    owned = everything(remote) | organization(remote)
    schema = schemathesis.openapi.from_dict(document)
    described = [one for result in schema.get_all_operations() if not (one := result.ok()).path.endswith(ELSEWHERE)]
    operations = sorted(described, key=lambda one: one.method in LAST)
    broken: list[str] = []

    for operation in operations:
        named = {name: owned[name] for name in owned if f"{{{name}}}" in operation.path}

        @seed(SEED)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases(operation, named))
        def ask(case: Case) -> None:
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
                broken.append(f"{problems or response.text}\n{case.as_curl_command()}"[:1500])

        ask()

    assert len(operations) > 25
    assert broken == [], f"{len(broken)} requests"


def cases(operation: Any, named: dict[str, Any]) -> st.SearchStrategy[Case]:
    """Requests about what there is and what there is not, as the document has them and as it has them not."""
    about = [named] if "key_id" in named or not named else [named, None]
    return st.one_of(
        operation.as_strategy(mode, path_parameters=parameters)
        for parameters in about
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    )
