"""`reprise test-cases add`: what it warns of before it makes the test case."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from reprise_client.cli import remote
from reprise_client.cli.remote import Remote
from reprise_client.cli.replay import test_cases as commands

WARNING = "The conversation was under way when this session began."


def added(monkeypatch: pytest.MonkeyPatch, *turns: dict[str, Any]) -> str:
    """Make a test case of a session with these turns; return what is written to standard error."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(201, json={"id": 7, "name": "Order"})
        return httpx.Response(200, json={"testCase": {"turns": list(turns)}, "doubts": [], "partOf": None})

    def connect(url: str, api_key: str) -> Remote:
        return Remote(url, api_key, transport=httpx.MockTransport(answer))

    monkeypatch.setattr(remote, "connect", connect)
    arguments = ["add", "--url", "http://x", "--api-key", "k", "--prompt", "2", "--session", "s"]
    result = CliRunner().invoke(commands, arguments)
    assert (result.exit_code, result.stdout) == (0, "7\tOrder\n"), result.output
    return result.stderr


def test_a_conversation_that_was_under_way_is_named_since_no_program_can_play_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier = [{"role": "user", "text": "weather in Oslo?"}]

    assert WARNING in added(monkeypatch, {"user": "and in Rome?", "earlier": earlier}, {"user": "thanks"})
    assert added(monkeypatch, {"user": "weather in Oslo?"}, {"user": "thanks", "earlier": None}) == ""
