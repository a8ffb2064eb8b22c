"""Caddy with the configuration that is shipped, in front of a running Reprise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.deployment import ROOT, environment
from tests.support.http_client import serves
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, free_port


@contextmanager
def proxied(home: Path, server_url: str, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL at which Caddy answers for the server; `home` gets its files, `more` are further variables."""
    url = f"http://{LOOPBACK}:{free_port()}"
    settings = {
        "REPRISE_SITE": url,
        "REPRISE_WEB_HOST": "localhost",
        "REPRISE_WEB_PORT": server_url.rpartition(":")[2],
        "HOME": str(home),
        **(more or {}),
    }
    with ChildProcess(
        "caddy",
        ["caddy", "run", "--config", str(ROOT / "deploy/Caddyfile"), "--adapter", "caddyfile"],
        log=home / "caddy.log",
        env=environment(home, settings),
        cwd=home,
        ready=lambda: serves(url),
    ):
        yield url
