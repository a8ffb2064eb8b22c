"""The wheel as its users have it: built by `make clients`, installed into a new environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from reprise_client import __version__

from tests.clients.python.fakes import FakeReprise
from tests.clients.python.test_readme import README
from tests.support.deployment import ROOT
from tests.support.exclusive import alone

# Builds fetch setuptools, installations httpx.
pytestmark = pytest.mark.sdks

DISTRIBUTIONS_MAX, BYTES_MAX = 8, 10_000_000
PROGRAM = """
import os
from reprise_client import Reprise
print(Reprise(os.environ["REPRISE_URL"], "rp_key").prompt(17).render({"tone": "formal"}).instruction)
"""
# What a user writes, with an error that the types of the client must show.
TYPED = """
import asyncio
from collections.abc import Mapping
from reprise_client import ApiError, AsyncReprise, Piece, Prompt, Rendered, Reprise, RunResult

client = Reprise(fresh_s=5)
prompt: Prompt = client.prompt(17, label="production", fallback={"value": "Hello."})
rendered: Rendered = prompt.render({"tone": "formal"}, audience="experts")
resolved: Mapping[str, str | None] = rendered.resolved
run: RunResult = client.run(17, "Hello?", label="production", placeholders={"tone": "formal"})
texts: list[str] = [found.text for found in client.stream(17, "Hello?") if isinstance(found, Piece)]


async def work() -> int:
    async with AsyncReprise() as other:
        assert (await other.prompt(17)).version
        return await other.start_run(17, "Hello?", idempotency_key="1")


asyncio.run(work())
client.run(17, "Hello?", tone="formal")
"""


def run_command(argv: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return the output of a command in `folder`, which must not fail."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env = {**kept, **(variables or {})}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pythons() -> list[str]:
    """Return the oldest Python that the client supports, where it is installed, and the newest one that is."""
    found = [next(iter(sorted(_installed(f"3.{minor}"), reverse=True)), "") for minor in (10, 13)]
    return list(filter(None, found)) or [sys.executable]


def _installed(version: str) -> list[str]:
    managed = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")
    on_path = shutil.which(f"python{version}")
    return [*map(str, managed), *([on_path] if on_path else [])]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, in a folder of this test's own; parallel processes of a test run build it one after another."""
    name = f"reprise_client-{__version__}-py3-none-any.whl"
    with alone(ROOT / "build" / "clients.lock"):
        run_command(["make", "clients-python", f"PYTHON={sys.executable}"], ROOT)
        return Path(shutil.copy(ROOT / "build" / "clients" / name, tmp_path_factory.mktemp("wheel") / name))


@pytest.fixture(scope="module", params=pythons(), ids=lambda python: python.split("/")[-3])
def environment(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of a user, with the wheel and what it brings."""
    folder = tmp_path_factory.mktemp("environment")
    run_command([request.param, "-m", "venv", "--without-pip", str(folder)], folder)
    run_command([*pip_of(folder), "install", "--quiet", str(wheel)], folder)
    return folder


def pip_of(environment: Path) -> list[str]:
    """Return this interpreter's pip, at work in another environment."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(environment / "bin" / "python")]


def test_it_brings_few_distributions_of_few_bytes(environment: Path) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    listed = json.loads(run_command([*pip_of(environment), "list", "--format=json"], environment))
    brought = {entry["name"] for entry in listed} - {"reprise-client", "reprise_client"}
    sizes = [file.stat().st_size for file in packages.rglob("*") if file.is_file() and "__pycache__" not in file.parts]

    assert len(brought) <= DISTRIBUTIONS_MAX, brought
    assert sum(sizes) <= BYTES_MAX


def test_it_renders_a_prompt_of_a_server(environment: Path, url: str, fake: FakeReprise, tmp_path: Path) -> None:
    printed = run_command([str(environment / "bin" / "python"), "-c", PROGRAM], tmp_path, {"REPRISE_URL": url})

    assert printed.strip() == "Be formal."


def test_its_users_code_is_checked_against_its_types(environment: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    python = environment / "bin" / "python"
    version = run_command([str(python), "-c", "import sys; print('3.%d' % sys.version_info[1])"], tmp_path).strip()
    found = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)),
            *("--python-version", version, "--cache-dir", str(tmp_path / "cache"), "--config-file=", str(program)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    errors = [line for line in found.stdout.splitlines() if ": error:" in line]
    assert [error.split(": error: ")[1] for error in errors] == [
        'Unexpected keyword argument "tone" for "run" of "Reprise"  [call-arg]'
    ], found.stdout + found.stderr


def test_it_installs_with_the_readmes_commands(wheel: Path, tmp_path: Path) -> None:
    run_command([sys.executable, "-m", "venv", str(tmp_path)], tmp_path)
    commands = re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S)
    for command in commands:
        here = command.replace("build/clients/reprise_client-*.whl", str(wheel))
        here = here.replace("'reprise-client[", f"'{wheel}[")
        run_command(["bash", "-euc", here], tmp_path, {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})

    assert (tmp_path / "bin" / "reprise").exists()


def test_the_wheel_holds_the_package_and_its_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name) for name in archive.namelist()}

    assert Path("reprise_client/py.typed") in names
    assert {name.parts[0] for name in names} == {
        "reprise_client",
        "reprise_formats",
        f"reprise_client-{__version__}.dist-info",
    }
