"""The image, built, and the compose file, started, by the container engine that `make image-test` names."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.deployment import ROOT
from tests.support.http_client import Client
from tests.support.waiting import free_port, wait_until

IMAGE = "reprise:local"
OURS = ("web", "runs", "spans", "replays", "clock")
ROOT_CERTIFICATE = "/data/caddy/pki/authorities/local/root.crt"
BUILD_S, COMMAND_S = 1800, 300
# Minutes of work for who has an engine: no part of `make test`.
collect_ignore_glob = [] if os.environ.get("CONTAINER_ENGINE") else ["test_*.py"]


def run(argv: list[str], timeout_s: float = COMMAND_S, **options: object) -> str:
    """Return standard output; a failed command fails the test with all its output."""
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False, **options)  # type: ignore[call-overload]
    assert ended.returncode == 0, f"{shlex.join(argv)}\n{ended.stdout}{ended.stderr}"
    return str(ended.stdout)


@dataclass(frozen=True)
class Compose:
    """The compose file in a separate folder, as a separate project."""

    engine: str
    folder: Path
    env: dict[str, str]

    def __call__(self, *arguments: str) -> str:
        command = shlex.split(os.environ.get("COMPOSE") or f"{self.engine} compose")
        return run([*command, "--project-name", "reprise-test", *arguments], cwd=self.folder, env=self.env)

    def exec(self, service: str, *command: str) -> str:
        return self("exec", "-T", service, *command)

    def exit_code(self, service: str) -> int:
        container = self("ps", "--all", "--quiet", service).strip()
        return int(run([self.engine, "inspect", "--format", "{{.State.ExitCode}}", container]))


@pytest.fixture(scope="session")
def engine() -> str:
    return os.environ["CONTAINER_ENGINE"]


@pytest.fixture(scope="session")
def image(engine: str) -> str:
    """The image, built from scratch; BUILD_ARGS are further arguments, such as a mirror's address."""
    arguments = shlex.split(os.environ.get("BUILD_ARGS", ""))
    # Podman's own format has no health checks.
    env = {**os.environ, "BUILDAH_FORMAT": "docker"}
    run([engine, "build", "--file", "deploy/Dockerfile", "--tag", IMAGE, *arguments, "."], BUILD_S, cwd=ROOT, env=env)
    return IMAGE


@pytest.fixture(scope="module")
def compose(engine: str, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compose]:
    """All services, running and reachable only on loopback; removed afterwards with their volumes."""
    folder = tmp_path_factory.mktemp("compose")
    for name in ("compose.yaml", "Caddyfile"):
        shutil.copy(ROOT / "deploy" / name, folder)
    _write_secrets(folder / "secrets")
    ports = {name: f"127.0.0.1:{free_port()}" for name in ("REPRISE_HTTP", "REPRISE_HTTPS")}
    compose = Compose(engine, folder, {**_images(), **os.environ, **ports, "REPRISE_SITE": "localhost"})
    try:
        compose("up", "--detach", "--no-build")
        yield compose
    finally:
        compose("down", "--volumes", "--timeout", "10")


def _images() -> dict[str, str]:
    """By their tags: what `pin-images` makes of them is for those who deploy."""
    return dict(line.split("=", 1) for line in (ROOT / "deploy/images").read_text().split())


def _write_secrets(folder: Path) -> None:
    folder.mkdir()
    password, redis_password = secrets.token_hex(32), secrets.token_hex(32)
    values = {
        "mysql_password": password,
        "database_url": f"mysql://reprise:{password}@mysql:3306/reprise",
        "redis_conf": f"requirepass {redis_password}\n",
        "redis_url": f"redis://:{redis_password}@redis:6379/0",
        "secret_key": secrets.token_hex(32),
        "metrics_token": secrets.token_hex(32),
    }
    for name, value in values.items():
        (folder / name).write_text(value)


@pytest.fixture(scope="module")
def visitor(compose: Compose) -> Client:
    """A client without a key that comes through the proxy, by TLS; everything is ready."""
    certificate = wait_until(lambda: _root_certificate(compose), "Caddy's certificate", 60, interval_s=1)
    port = compose.env["REPRISE_HTTPS"].rpartition(":")[2]
    visitor = Client(f"https://localhost:{port}", tls=ssl.create_default_context(cadata=certificate))
    wait_until_ready(visitor)
    return visitor


def wait_until_ready(client: Client) -> None:
    wait_until(lambda: _ready(client), "/health/ready", 60, interval_s=1)


def _ready(client: Client) -> bool:
    try:
        return client.get("/health/ready").status == 200
    except OSError:  # The proxy is not there yet.
        return False


def _root_certificate(compose: Compose) -> str:
    return compose.exec("proxy", "sh", "-c", f"cat {ROOT_CERTIFICATE} || true")
