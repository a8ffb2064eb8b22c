"""Every command that speaks to an instance names the variables of its address and its key."""

from __future__ import annotations

from collections.abc import Iterator

import click
import httpx
import pytest
from click.testing import CliRunner
from reprise_client.cli import main, remote
from reprise_client.cli.remote import Remote


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        elif any("--url" in parameter.opts for parameter in command.params):
            yield *path, name


COMMANDS = sorted(commands(main))


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REPRISE_URL", "REPRISE_API_KEY", "REPRISE_AGENT"):
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


def _options_of(path: tuple[str, ...]) -> list[str]:
    command: click.Command = main
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return [option for parameter in command.params for option in parameter.opts]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_prompt_is_read_after_the_instance_that_may_name_it(command: tuple[str, ...]) -> None:
    options = _options_of(command)
    if "--prompt" in options:
        assert max(options.index("--url"), options.index("--api-key")) < options.index("--prompt")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that commands ask at an instance with the agent `shop`, the prompt 7."""
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        agents = [{"name": "shop", "promptId": 7}]
        return httpx.Response(200, json={"agents": agents, "testCases": [], "nextCursor": None})

    def connect(url: str, api_key: str, **_options: object) -> Remote:
        return Remote(url, api_key, transport=httpx.MockTransport(answer))

    monkeypatch.setattr(remote, "connect", connect)
    monkeypatch.setenv("REPRISE_URL", "http://reprise")
    monkeypatch.setenv("REPRISE_API_KEY", "rp_key")
    return paths


@pytest.mark.parametrize("command", ["replay", "test-cases list", "gate --stdio -- true"])
def test_a_prompt_that_is_not_named_is_that_of_the_agent(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("REPRISE_AGENT", "shop")

    CliRunner().invoke(main, command.split())

    assert "/api/v1/prompts/7/test-cases" in asked


def test_a_named_prompt_goes_before_the_agent(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_AGENT", "shop")

    CliRunner().invoke(main, ["test-cases", "list", "--prompt", "3"])

    assert asked == ["/api/v1/prompts/3/test-cases"]


def test_an_agent_without_a_trace_is_named(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_AGENT", "other")

    done = CliRunner().invoke(main, ["test-cases", "list"])

    assert done.exit_code == 2
    assert "No agent 'other' has sent a trace." in done.output


@pytest.mark.parametrize("command", ["replay", "test-cases list", "gate --stdio -- true", "traces wait"])
def test_without_prompt_and_agent_both_ways_are_named(asked: list[str], command: str) -> None:
    done = CliRunner().invoke(main, command.split())

    assert done.exit_code == 2
    assert "--prompt" in done.output
    assert "REPRISE_AGENT" in done.output
    assert asked == []
