"""Modules that make a process slow to start are imported when they are first used, also in programs outside the app."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in (*sorted((ROOT / "bench").rglob("*.py")), ROOT / "docs" / "images" / "make.py")
    if not file.stem.startswith("__")
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_benchmark_and_the_maker_of_screenshots_find_what_they_import(name: str) -> None:
    assert import_module(name)


@pytest.mark.parametrize(
    "root", ["app.process.wsgi", "app.process.worker", "app.process.clock", "app.process.embedded"]
)
def test_a_process_starts_without_what_only_some_processes_use(root: str) -> None:
    pytest.importorskip("MySQLdb", exc_type=ImportError)
    heavy = ["alembic", "mako", "fakeredis"]
    code = f"import sys, {root}; print(*(name for name in {heavy} if name in sys.modules))"
    env = {"PATH": os.environ["PATH"], "REPRISE_SECRET_KEY": "secret"}
    env |= {"DATABASE_URL": "mysql://reprise@127.0.0.1:1/reprise", "REDIS_URL": "redis://127.0.0.1:1/0"}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert loaded.stdout.split() == []
