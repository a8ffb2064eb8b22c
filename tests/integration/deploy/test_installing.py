"""`make` installs by uv, and by pip where uv cannot."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.deployment import ROOT


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment with only what `base.txt` pins; its programs print their usage."""
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "python", status=0)
    for stamp in ("build.stamp", "own.stamp"):
        (tmp_path / stamp).touch()
    return tmp_path


def program(path: Path, *, status: int) -> None:
    path.write_text(f'#!/bin/sh\necho "{path.name} $*"\nexit {status}\n')
    path.chmod(0o755)


def installing(venv: Path) -> list[str]:
    """The calls that `make` does for the pins of `base.txt`."""
    made = subprocess.run(
        ["make", f"VENV={venv}", f"{venv}/base.stamp"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [line for line in made.stdout.splitlines() if " install " in line]


def test_uv_installs_what_is_pinned_with_its_hashes(venv: Path) -> None:
    program(venv / "bin" / "uv", status=0)

    (call,) = installing(venv)

    assert call.startswith("uv pip install ")
    assert "--require-hashes --no-deps" in call


def test_pip_installs_the_same_where_uv_reaches_no_index(venv: Path) -> None:
    program(venv / "bin" / "uv", status=2)

    by_uv, by_pip = installing(venv)

    assert by_pip.startswith("python -m pip ")
    assert by_pip[by_pip.index("--require-hashes") :] == by_uv[by_uv.index("--require-hashes") :]
