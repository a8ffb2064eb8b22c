"""The compose file, started with the command in its head: requests through the proxy are handled, kept and ended."""

import gzip
import re

import pytest

from tests.e2e.containers.conftest import OURS, Compose, wait_until_ready
from tests.support.exports import export, span
from tests.support.http_client import Client

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def client(compose: Compose, visitor: Client) -> Client:
    """Speaks through the proxy as the first project."""
    key = re.search(r"^API key (\S+)$", compose.exec("web", "reprise", "init"), re.M)
    assert key
    return Client(visitor.base_url, key[1], tls=visitor.tls)


@pytest.fixture(scope="module")
def prompt_id(client: Client) -> int:
    body = {"name": "Echo", "value": "Be kind.", "languageModelName": "echo"}
    return int(client.post("/api/v1/prompts", body).json()["prompt"]["id"])


def send_batch(client: Client, prompt_id: int) -> int:
    """A compressed batch as exporters send them, of one turn; the answer's status."""
    batch = export(span({"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat"}))
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    return client.post("/api/public/otel/v1/traces", body=gzip.compress(batch), headers=headers).status


def test_a_run_is_answered(client: Client, prompt_id: int) -> None:
    answer = client.post("/api/v1/prompts/run", {"id": prompt_id, "question": "Anybody there?", "productive": False})
    assert (answer.status, answer.json()["answer"]) == (200, "Anybody there?")


def test_the_doctor_finds_nothing_wrong(compose: Compose, visitor: Client) -> None:
    assert "PROBLEM" not in compose.exec("web", "reprise", "doctor")


def test_metrics_are_for_inside(compose: Compose, visitor: Client) -> None:
    token = (compose.folder / "secrets/metrics_token").read_text()
    assert visitor.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status == 404
    request = f"r.Request('http://web:8000/metrics', headers={{'Authorization': 'Bearer {token}'}})"
    ask = f"import urllib.request as r; print(r.urlopen({request}).read().decode())"
    assert "reprise_workers" in compose.exec("clock", "python", "-c", ask)


def test_stopped_in_order_and_started_again_it_has_kept_what_it_acknowledged(
    compose: Compose, visitor: Client, client: Client, prompt_id: int
) -> None:
    assert send_batch(client, prompt_id) == 200
    logged = client.get(f"/api/v1/prompts/{prompt_id}/logs").json()
    assert {entry["type"] for entry in logged["entries"]} == {"run", "otel"}
    compose("stop")
    assert {service: compose.exit_code(service) for service in OURS} == dict.fromkeys(OURS, 0)
    compose("up", "--detach", "--no-build")
    wait_until_ready(client)
    assert client.get(f"/api/v1/prompts/{prompt_id}/logs").json() == logged
