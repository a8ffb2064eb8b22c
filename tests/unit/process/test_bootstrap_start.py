"""What a process logs of itself when it starts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import __version__
from config.settings import declared
from tests.support.deployment import ROOT, environment

pytestmark = pytest.mark.slow


def lines_of(process: str, home: Path, **settings: str) -> list[dict[str, Any]]:
    code = f"from app.process.bootstrap import start; start({process!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(home, settings),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_the_line_of_a_start_is_short_and_names_what_is_not_as_by_default(tmp_path: Path) -> None:
    pytest.importorskip("MySQLdb")
    secrets = {"REDIS_URL": "redis://:hush@localhost/0", "DATABASE_URL": "mysql://r:hush@localhost/r"}
    (line,) = lines_of("web", tmp_path, **secrets, PORT="8001", REPRISE_WEB_THREADS="1600")
    settings = {"DATABASE_URL": "(set)", "REDIS_URL": "(set)", "REPRISE_HOME": str(tmp_path), "PORT": "8001"}
    assert {name: line[name] for name in line if name not in {"timestamp", "level", "logger"}} == {
        "event": "starting",
        "process": "web",
        "version": __version__,
        "mode": "services",
        "address": "127.0.0.1:8001",
        "home": str(tmp_path),
        "settings": settings,
    }


def test_all_settings_are_logged_for_who_looks_for_a_fault(tmp_path: Path) -> None:
    first, settings = lines_of("clock", tmp_path, REPRISE_LOG_LEVEL="debug", REPRISE_METRICS_TOKEN="hush")
    assert (first["mode"], "address" in first) == ("embedded", False)
    assert settings["event"] == "settings"
    assert {field.metadata["env"] for field in declared()} < settings.keys()
    assert (settings["REPRISE_METRICS_TOKEN"], settings["REPRISE_WEB_THREADS"]) == ("(set)", "1600")
