"""Installing what a page pins: once, and never half."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.e2e.connect.sdks import NotInstalled, installed


def page(folder: Path, requirements: str) -> Path:
    folder.mkdir()
    (folder / "requirements.txt").write_text(requirements)
    return folder


def test_what_is_installed_runs_and_is_found_again(tmp_path: Path) -> None:
    wanted = page(tmp_path / "page", "# nothing\n")

    home = installed(wanted, tmp_path / "cache")

    subprocess.run([home / "bin" / "python", "-c", "import json"], check=True)
    assert installed(wanted, tmp_path / "cache") == home


def test_what_can_not_be_installed_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wanted = page(tmp_path / "page", "reprise-no-such-package==1.0\n")

    with pytest.raises(NotInstalled, match="reprise-no-such-package"):
        installed(wanted, tmp_path / "cache")

    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_pip_installs_what_only_its_configuration_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with zipfile.ZipFile(tmp_path / "found_by_pip-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("found_by_pip.py", "")
        wheel.writestr(
            "found_by_pip-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: found-by-pip\nVersion: 1.0\n"
        )
        wheel.writestr("found_by_pip-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("found_by_pip-1.0.dist-info/RECORD", "")

    home = installed(page(tmp_path / "page", "found-by-pip==1.0\n"), tmp_path / "cache")

    subprocess.run([home / "bin" / "python", "-c", "import found_by_pip"], check=True)


def test_other_pins_are_another_installation(tmp_path: Path) -> None:
    first = installed(page(tmp_path / "page", "# one\n"), tmp_path / "cache")
    (tmp_path / "page" / "requirements.txt").write_text("# two\n")

    assert installed(tmp_path / "page", tmp_path / "cache") != first
