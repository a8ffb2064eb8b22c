"""The command `reprise`, as a program that speaks to a running server."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import programs
from tests.support.deployment import ROOT, environment
from tests.support.http_client import Client
from tests.support.waiting import PATIENCE_S


def reprise(
    client: Client, home: Path, *arguments: str, key: str | None = None, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder` against the client's server, with its key unless another is given."""
    settings = {"REPRISE_API_KEY": client.api_key if key is None else key, "REPRISE_URL": client.base_url}
    return programs.run(["reprise", *arguments], env=environment(home, settings), cwd=folder, timeout_s=PATIENCE_S)
