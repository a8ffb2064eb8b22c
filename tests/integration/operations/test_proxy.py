"""The reverse proxy of deploy/: it forwards OTLP exporters' batches and hides the internal addresses."""

import gzip
import socket
from collections.abc import Iterator

import pytest

from tests.support import caddy
from tests.support.deployment import EmbeddedServer, read_assignments
from tests.support.http_client import Client
from tests.support.waiting import LOOPBACK

pytestmark = pytest.mark.program("caddy")
MIB = 1024 * 1024
METRICS_TOKEN = "metrics-token"
SETTINGS = {"REPRISE_METRICS_TOKEN": METRICS_TOKEN, "REPRISE_PUBLIC_URL": "https://reprise.example.com"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Speaks to Caddy in front of a Reprise, as the demo project."""
    home = tmp_path_factory.mktemp("proxy")
    with (
        EmbeddedServer(home, SETTINGS) as server,
        caddy.proxied(home, server.url, {"REPRISE_HEAD_S": "1"}) as url,
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


def test_a_head_that_never_ends_is_cut_off(client: Client) -> None:
    with socket.create_connection((LOOPBACK, int(client.base_url.rpartition(":")[2])), timeout=120) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        heard = b""
        while piece := connection.recv(1000):
            heard += piece
    assert b" 200 " not in heard


def test_a_head_over_its_size_is_refused(client: Client) -> None:
    assert client.get("/health/live", headers={"X-Long": "x" * 40_000}).status == 431


def test_browsers_are_kept_to_https(client: Client) -> None:
    assert client.get("/health/live").headers["Strict-Transport-Security"] == "max-age=31536000"
