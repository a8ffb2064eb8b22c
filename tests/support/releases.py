"""Earlier releases of Reprise, from the history of git. They run with the packages that are installed for this one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What processes need, and recorded spans.
PATHS = ("app", "config", "migrations", "clients/python", "Procfile", "tests/data/otlp")
FIRST = "f50fa914"
"""The commit of release 0.1.0."""


@dataclass(frozen=True)
class Release:
    """The code of a release; `variables` let the installed programs import it."""

    root: Path = ROOT
    variables: Mapping[str, str] = field(default_factory=dict)


CURRENT = Release()


def missing(commit: str) -> str | None:
    """Return why the release of a commit cannot be had here, or None. A copy of the last commits does not have it."""
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, check=False
    )
    return f"the history of git has no commit {commit}" if known.returncode else None


def checked_out(commit: str, folder: Path) -> Release:
    """Write the code of a commit into a folder that is empty."""
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit, *PATHS], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "--extract"], cwd=folder, input=archive.stdout, check=True)
    path = os.pathsep.join((str(folder), str(folder / "clients/python/src")))
    return Release(folder, {"PYTHONPATH": path})
