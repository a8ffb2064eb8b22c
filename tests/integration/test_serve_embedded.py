"""`reprise serve` with only a folder: ends gently, keeps what it has, and names what keeps it from starting."""

import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app import __version__
from app.process.storing import PROCESSES
from tests.support.deployment import PATIENT, ROOT, EmbeddedServer, environment, read_assignments
from tests.support.http_client import Client, serves
from tests.support.process import children_of
from tests.support.waiting import LOOPBACK, free_port, wait_until

BODY = b'{"name": "Late", "value": "Hello"}'


def run(home: Path, port: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["reprise", *arguments],
        env=environment(home, {"PORT": str(port)}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def port_of(server: EmbeddedServer) -> int:
    return int(server.url.rpartition(":")[2])


def begin_request(server: EmbeddedServer) -> socket.socket:
    """Open a connection with a request that the server has begun to handle: it answers before it reads the body."""
    connection = socket.create_connection((LOOPBACK, port_of(server)), timeout=120)
    key = read_assignments(server.home / "dev.env")["API_KEY"]
    head = (
        "POST /api/v1/prompts HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    )
    connection.sendall(head.encode())
    assert connection.recv(1000).startswith(b"HTTP/1.1 100")
    return connection


def answers(server: EmbeddedServer) -> bool:
    try:
        return Client(server.url, timeout_s=1).get("/health/live").status == 200
    except OSError:
        return False


def from_init_system(server: EmbeddedServer) -> None:
    os.kill(server.process.pid, signal.SIGTERM)


def from_terminal(server: EmbeddedServer) -> None:
    """Ctrl-C reaches the whole group."""
    os.killpg(server.process.pid, signal.SIGINT)


@pytest.mark.parametrize("stop", [from_init_system, from_terminal])
def test_a_request_in_flight_is_answered_before_the_end(tmp_path: Path, stop: Callable[[EmbeddedServer], None]) -> None:
    with EmbeddedServer(tmp_path) as server, begin_request(server) as connection:
        stop(server)
        wait_until(lambda: not answers(server), "the server to accept no more requests")
        connection.sendall(BODY)
        assert connection.recv(1000).startswith(b"HTTP/1.1 201")
        assert server.process.terminate() == 0


def kept(home: Path) -> dict[str, str]:
    """What the folder keeps from one start to the next, which is all but the link that signs in."""
    variables = read_assignments(home / "dev.env")
    del variables["SIGN_IN_LINK"]
    return variables | {"secret.key": (home / "secret.key").read_text()}


def test_a_later_start_keeps_prompts_key_and_secrets(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        server.client().post("/api/v1/prompts", {"name": "Mine", "value": "Hello"})
        before = kept(tmp_path)
        server.process.terminate()
        server.process.start()
        assert before == kept(tmp_path)
        names = [prompt["name"] for prompt in server.client().get("/api/v1/prompts").json()["prompts"]]
    assert names == ["Mine", "Demo: shop support"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """For tests that neither end nor restart it."""
    with EmbeddedServer(tmp_path_factory.mktemp("server"), {"REPRISE_METRICS_TOKEN": "hush-hush"}) as server:
        yield server


def test_what_serve_prints_where_no_person_reads_has_no_secret(server: EmbeddedServer) -> None:
    printed, variables = server.process.log.read_text(), read_assignments(server.home / "dev.env")

    assert "Reprise is ready." in printed
    assert str(server.home / "dev.env") in printed
    for secret in (variables["API_KEY"], variables["ADMIN_PASSWORD"], variables["SIGN_IN_LINK"].partition("token=")[2]):
        assert secret
        assert secret not in printed


def test_files_with_secrets_are_readable_only_by_the_owner(server: EmbeddedServer) -> None:
    modes = {name: (server.home / name).stat().st_mode & 0o777 for name in ("dev.env", "secret.key")}
    assert modes == {"dev.env": 0o600, "secret.key": 0o600}


def test_a_lost_dev_env_gets_another_key_and_the_same_demo(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        before = read_assignments(tmp_path / "dev.env")
        server.process.terminate()
        (tmp_path / "dev.env").unlink()
        server.process.start()
        after = read_assignments(tmp_path / "dev.env")
        assert server.client().get(f"/api/v1/prompts/{after['PROMPT_ID']}").status == 200
    assert after["PROMPT_ID"] == before["PROMPT_ID"]
    assert after["API_KEY"] != before["API_KEY"]


def test_a_dead_serving_process_is_replaced(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        (child,) = children_of(server.process.pid)
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: server.process.output_tail().count("Booting worker") == 2, "another process")
        wait_until(lambda: serves(server.url), "its answer")
        assert server.client().get("/api/v1/prompts").status == 200


def test_a_chunked_body_is_read_to_its_end(server: EmbeddedServer) -> None:
    chunked = [b'{"name": "Chunks",', b' "value": "Hello"}']
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)
    headers = {"Authorization": f"Bearer {server.client().api_key}", "Content-Type": "application/json"}
    for _ in range(2):  # on the same connection: nothing of the first body is left over
        connection.request("POST", "/api/v1/prompts", iter(chunked), headers, encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (201, True)
    connection.close()


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run(tmp_path, port, "serve")
    assert done.returncode == 1
    assert f"Error: Can't listen on 127.0.0.1:{port}: Address already in use." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_in_use_is_reported_in_one_line(server: EmbeddedServer) -> None:
    done = run(server.home, free_port(), "serve")
    assert done.returncode == 1
    assert f"Error: Another `reprise serve` uses {server.home}" in done.stderr


def test_a_bad_setting_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        ["reprise", "serve"],
        env=environment(tmp_path, {"PORT": "eighty"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("reprise: PORT: 'eighty' can't be used")


def test_the_first_line_of_the_log_describes_what_starts_with_secrets_masked(server: EmbeddedServer) -> None:
    log = server.process.log.read_text()
    first = json.loads(log.splitlines()[0])
    settings = first.pop("settings")
    assert {name: first[name] for name in ("event", "process", "version", "mode", "address", "home")} == {
        "event": "starting",
        "process": "serve",
        "version": __version__,
        "mode": "embedded",
        "address": server.url.removeprefix("http://"),
        "home": str(server.home),
    }
    assert settings == {
        "REPRISE_HOME": str(server.home),
        "PORT": server.url.rpartition(":")[2],
        "REPRISE_METRICS_TOKEN": "(set)",
        **PATIENT,
    }
    assert "hush-hush" not in log


def test_the_log_names_the_storing_processes(server: EmbeddedServer) -> None:
    lines = [json.loads(line) for line in server.process.log.read_text().splitlines() if '"process_started"' in line]
    assert [line["name"] for line in lines] == ["storing"] * PROCESSES
    assert all(Path(f"/proc/{line['pid']}").exists() for line in lines)


def test_health_needs_no_key_and_the_front_page_asks_to_sign_in(server: EmbeddedServer) -> None:
    client = Client(server.url)
    # The first one that stores batches may be ready before the second.
    wait_until(lambda: "warnings" not in client.get("/health/ready").json(), "all processes that store batches")
    answers = {path: client.get(path) for path in ("/health/live", "/health/ready", "/")}
    assert answers["/health/live"].json() == {"status": "live"}
    assert answers["/health/ready"].json() == {"status": "ready"}
    assert (answers["/"].status, answers["/"].headers["location"]) == (303, "/sign-in")
