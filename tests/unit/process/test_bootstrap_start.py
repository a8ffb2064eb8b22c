"""What a process logs of itself when it starts."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import __version__
from config.environment import misspelt
from config.settings import declared
from tests.support.deployment import ROOT, environment

pytestmark = pytest.mark.slow

SUFFIXES = {"", ".py", ".md", ".yml", ".yaml", ".sh", ".mjs", ".env"}


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


def test_a_start_warns_of_a_variable_that_is_nearly_a_setting(tmp_path: Path) -> None:
    wrong = {"REPRISE_SECRET_KYE": "hush", "REPRISE_LOG_LEVEL_FILES": "x", "REPRISE_WEB_THREDS": "3"}
    clients = {"REPRISE_URL": "http://127.0.0.1:1", "REPRISE_API_KEY": "k", "REPRISE_AGENT": "a", "REPRISE_PROMPT": "3"}

    _, *warnings = lines_of("serve", tmp_path, **wrong, **clients)

    assert {(line["name"], line["meant"]) for line in warnings} == {
        ("REPRISE_SECRET_KYE", "REPRISE_SECRET_KEY"),
        ("REPRISE_LOG_LEVEL_FILES", "REPRISE_LOG_LEVEL_FILE"),
        ("REPRISE_WEB_THREDS", "REPRISE_WEB_THREADS"),
    }
    assert {(line["event"], line["level"]) for line in warnings} == {("unknown_setting", "warning")}


def test_no_variable_of_the_repository_is_taken_for_a_misspelt_setting() -> None:
    folders = ("app", "config", "clients/python/src", "deploy", "docs", "bin", "examples")
    files = [
        file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES and file.is_file()
    ]
    names = {name for file in files for name in re.findall(r"\bREPRISE_[A-Z_]+", file.read_text(encoding="utf-8"))}

    assert len(names) > 50
    assert misspelt(dict.fromkeys(names, "x"), [field.metadata["env"] for field in declared()]) == {}
