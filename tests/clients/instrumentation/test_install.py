"""`instrument` needs no package except those in the READMEs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.clients.js.conftest import SOURCE, run_command
from tests.support.deployment import ROOT

PYTHON = ROOT / "clients" / "python"
pytestmark = pytest.mark.sdks


def command_with(word: str, readme: Path) -> str:
    """The block of commands of a README that has this word."""
    (command,) = [
        block for block in re.findall(r"^```sh\n(.*?)^```$", readme.read_text(), re.M | re.S) if word in block
    ]
    return str(command)


def test_the_extra_of_the_wheel_has_what_python_needs(tmp_path: Path) -> None:
    folder = tmp_path / "build" / "clients"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run_command([*pip, "--wheel-dir", str(folder), str(PYTHON)], ROOT)
    run_command([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path)
    programs = tmp_path / "venv" / "bin"

    run_command(
        ["bash", "-euc", f"PATH={programs}:$PATH\n{command_with('[instrument]', PYTHON / 'README.md')}"], tmp_path
    )

    printed = run_command(
        [str(programs / "python"), "-c", "import reprise_client as it; print(it.instrument)"], tmp_path
    )
    assert printed.startswith("<function instrument")


def test_the_packages_named_have_what_node_needs(project: Path, tarball: Path, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    run_command(["npm", "install", "--no-audit", "--no-fund", str(tarball)], tmp_path)

    run_command(
        ["bash", "-euc", command_with("@opentelemetry", SOURCE / "README.md")], tmp_path, {"APP": str(tmp_path)}
    )

    program = "import { instrument } from '@reprise/client/instrument'; await instrument({ prompt: 17 })"
    run_command(["node", "--input-type=module", "-e", program], tmp_path)
