"""Runs the programs of this folder in Python and in Node, with the client that each has installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.js.conftest import SOURCE, needs_node, project, tarball  # noqa: F401
from tests.fakes.collector import Collector
from tests.support.deployment import environment

HERE = Path(__file__).parent
KEY = "rp_test"
Program = subprocess.Popen[str]
Run = Callable[..., Program]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="session")
def node_programs(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The programs next to the packed client and the packages of OpenTelemetry."""
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(project / "node_modules", folder / "node_modules")
    (folder / "node_modules" / "@opentelemetry").symlink_to(SOURCE / "node_modules" / "@opentelemetry")
    for program in HERE.glob("*.mjs"):
        shutil.copy(program, folder)
    return folder


@pytest.fixture(params=["python", "node"])
def command(request: pytest.FixtureRequest) -> Callable[[str], list[str]]:
    """The command that runs a program in each language."""
    if request.param == "python":
        return lambda name: [sys.executable, str(HERE / f"{name}.py")]
    folder: Path = request.getfixturevalue("node_programs")
    return lambda name: ["node", str(folder / f"{name}.mjs")]


@pytest.fixture
def run(command: Callable[[str], list[str]], tmp_path: Path) -> Iterator[Run]:
    """Starts a program, with its waiting spans in `tmp_path`."""
    started: list[Program] = []

    def run(name: str, argument: str, url: str, key: str = KEY) -> Program:
        settings = {"REPRISE_URL": url, "REPRISE_API_KEY": key, "XDG_STATE_HOME": str(tmp_path)}
        env = environment(tmp_path, {**settings, "OTEL_BSP_SCHEDULE_DELAY": "20"})
        pipe = subprocess.PIPE
        started.append(subprocess.Popen([*command(name), argument], env=env, stdin=pipe, stdout=pipe, text=True))
        return started[-1]

    yield run
    for program in started:
        program.kill()
        program.communicate()
