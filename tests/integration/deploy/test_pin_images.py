"""deploy/pin-images writes the digests of the registry, or nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.deployment import ROOT

NAMES = [line.split("=")[0] for line in (ROOT / "deploy/images").read_text().split()]
KNOWS_ALL = """#!/bin/sh
echo "Name:   $4"
echo "Digest: sha256:of-$4"
echo "Manifests:"
echo "  Digest: sha256:of-a-platform"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("images", "pin-images"):
        shutil.copy(ROOT / "deploy" / name, tmp_path)
    return tmp_path


def pin(folder: Path, docker: str) -> subprocess.CompletedProcess[str]:
    """With a `docker` of ours."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/docker").write_text(docker)
    (folder / "bin/docker").chmod(0o755)
    env = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run([folder / "pin-images"], env=env, capture_output=True, text=True, check=False)


def test_each_image_gets_the_digest_of_its_tag(folder: Path) -> None:
    assert pin(folder, KNOWS_ALL).returncode == 0
    expected = [f"{line}@sha256:of-{line.split('=')[1]}" for line in (folder / "images").read_text().split()]
    assert (folder / ".env").read_text().split() == expected


def test_images_are_replaced_and_other_settings_stay(folder: Path) -> None:
    (folder / ".env").write_text(f"REPRISE_SITE=reprise.example.com\n{NAMES[0]}=old@sha256:old\n")
    assert pin(folder, KNOWS_ALL).returncode == 0
    lines = (folder / ".env").read_text().split()
    assert lines[0] == "REPRISE_SITE=reprise.example.com"
    assert [line.split("=")[0] for line in lines[1:]] == NAMES


@pytest.mark.parametrize("docker", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho Digest: none\n"])
def test_without_an_answer_of_the_registry_nothing_changes(folder: Path, docker: str) -> None:
    (folder / ".env").write_text("A=1\n")
    ended = pin(folder, docker)
    assert ended.returncode != 0
    assert "no digest was found" in ended.stderr
    assert (folder / ".env").read_text() == "A=1\n"
