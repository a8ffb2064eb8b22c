from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner
from reprise_client.cli import main


def test_without_its_packages_the_command_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "reprise_client.mcp", raising=False)

    done = CliRunner().invoke(main, ["mcp", "--url", "http://127.0.0.1:1", "--api-key", "rp_key"])

    assert (done.exit_code, done.stdout) == (2, "")
    assert 'pip install "$(echo build/clients/reprise_client-*.whl)[cli,mcp]"' in done.stderr
