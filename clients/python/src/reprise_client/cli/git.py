"""Asks git about a file: what it was in earlier commits, and if all of it is committed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reprise_formats.text_files import decoded

# Each costs a process of git, about 5 ms.
COMMITS_MAX = 200


def earlier_contents(file: Path) -> Iterator[str]:
    """Yield the file's content in each of the last commits that changed it, newest first.

    There are none without git or a repository. A clone of one commit has just that one.
    """
    for commit in (_git(file, "log", f"--max-count={COMMITS_MAX}", "--format=%H", "--", file.name) or "").split():
        content = _output(file, "show", f"{commit}:./{file.name}")
        with suppress(UnicodeDecodeError):
            yield decoded(content or b"").content


def is_committed(file: Path) -> bool:
    """Return True if the last commit has the file unchanged."""
    return _git(file, "ls-files", "--error-unmatch", "--", file.name) is not None and not _git(
        file, "status", "--porcelain", "--", file.name
    )


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """The repository of a folder: its name, its commit, and whether it has changes that are not committed."""

    name: str
    commit: str
    is_dirty: bool


def working_tree(folder: Path) -> WorkingTree | None:
    """Return the working tree that a folder is in; None without git, a repository or a commit."""
    file = folder / "-"
    top, commit = _git(file, "rev-parse", "--show-toplevel"), _git(file, "rev-parse", "--verify", "HEAD")
    if not top or not commit:
        return None
    return WorkingTree(Path(top.strip()).name, commit.strip(), bool(_git(file, "status", "--porcelain")))


def commit_of(folder: Path, name: str) -> str | None:
    """Return the commit that a branch, tag or abbreviated hash names in a folder's repository, if there is one."""
    commit = _git(folder / "-", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return commit.strip() if commit else None


def _git(file: Path, *arguments: str) -> str | None:
    output = _output(file, *arguments)
    return None if output is None else output.decode("utf-8", "replace")


def _output(file: Path, *arguments: str) -> bytes | None:
    """Return what git prints in the file's folder, or None where it fails."""
    command = ["git", "-C", str(file.absolute().parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - a fixed program, no shell
    except (OSError, subprocess.CalledProcessError):
        return None
