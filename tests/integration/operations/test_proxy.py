"""The reverse proxy as it is configured: it forwards OTLP exporters' batches and hides what is for inside."""

import gzip
import shutil
from collections.abc import Iterator

import pytest

from tests.support.deployment import ROOT, EmbeddedServer, environment, read_assignments
from tests.support.http_client import Client, serves
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, free_port

pytestmark = pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed")
MIB = 1024 * 1024
METRICS_TOKEN = "metrics-token"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Speaks to Caddy in front of a Reprise, as the demo project."""
    home, port = tmp_path_factory.mktemp("proxy"), free_port()
    with EmbeddedServer(home, {"REPRISE_METRICS_TOKEN": METRICS_TOKEN}) as server:
        settings = {
            "REPRISE_SITE": f"http://{LOOPBACK}:{port}",
            "REPRISE_WEB_HOST": "localhost",
            "REPRISE_WEB_PORT": server.url.rpartition(":")[2],
            "HOME": str(home),
        }
        url = settings["REPRISE_SITE"]
        with ChildProcess(
            "caddy",
            ["caddy", "run", "--config", str(ROOT / "deploy/Caddyfile"), "--adapter", "caddyfile"],
            log=home / "caddy.log",
            env=environment(home, settings),
            cwd=home,
            ready=lambda: serves(url),
        ):
            yield Client(url, read_assignments(home / "dev.env")["API_KEY"])


def test_batches_of_exporters_arrive(client: Client) -> None:
    answer = client.post(
        "/api/public/otel/v1/traces",
        body=gzip.compress(b'{"resourceSpans": []}'),
        headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
    )
    assert (answer.status, answer.json()) == (200, {"partialSuccess": {}})


def test_the_api_and_the_pages_answer(client: Client) -> None:
    assert client.get("/api/v1/prompts").status == 200
    assert client.get("/health/ready").status == 200


def test_metrics_are_for_inside(client: Client) -> None:
    assert client.get("/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}).status == 404


def test_batches_over_their_size_are_refused_for_good(client: Client) -> None:
    try:
        answer = client.post(
            "/api/public/otel/v1/traces", body=bytes(21 * MIB), headers={"Content-Type": "application/json"}
        )
    except (BrokenPipeError, ConnectionResetError):
        return
    assert answer.status == 413
