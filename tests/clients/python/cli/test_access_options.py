"""Every command that speaks to an instance names the variables of its address and its key."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from reprise_client.cli import main


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        elif any("--url" in parameter.opts for parameter in command.params):
            yield *path, name


COMMANDS = sorted(commands(main))


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REPRISE_URL", "REPRISE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_names_the_variables(command: tuple[str, ...]) -> None:
    told = " ".join(CliRunner().invoke(main, [*command, "--help"]).output.split())
    assert "[env var: REPRISE_URL" in told
    assert "[env var: REPRISE_API_KEY" in told


@pytest.mark.parametrize("command", ["replay --prompt 1", "sessions", "mcp", "gate --prompt 1"])
def test_a_missing_address_names_its_variable(command: str) -> None:
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 2
    assert "REPRISE_URL" in done.output


def test_a_missing_key_names_its_variable() -> None:
    done = CliRunner().invoke(main, ["sessions", "--url", "http://127.0.0.1:1"])
    assert done.exit_code == 2
    assert "REPRISE_API_KEY" in done.stderr
