"""Versions by their names on the command line: `latest`, a label, or a hash that is cut to its first characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote

HASH_LENGTH = 64
_HASH = re.compile(f"[0-9a-f]{{{HASH_LENGTH}}}")


def place(versions: Sequence[dict[str, Any]], name: str) -> int:
    """Return the index of the one version with a hash that begins so. Raises `CouldNotRun` for none and for several."""
    places = [index for index, version in enumerate(versions) if name and version["commitHash"].startswith(name)]
    if len(places) != 1:
        problem = f"{len(places)} versions that begin with" if places else "no version"
        raise CouldNotRun(f"The prompt has {problem} {name!r}.")
    return places[0]


def full_hash(instance: Remote, prompt_id: int, name: str) -> str:
    """Return the whole hash of the newest version for `latest`, else of the label's, or the one that begins so."""
    if _HASH.fullmatch(name):
        return name
    versions = instance.get(f"/api/v1/prompts/{prompt_id}/versions")["versions"]
    labelled = next((version["commitHash"] for version in versions if name in version.get("labels", ())), None)
    if labelled is not None and name != "latest":
        return str(labelled)
    commit_hash: str = versions[0 if versions and name == "latest" else place(versions, name)]["commitHash"]
    return commit_hash
