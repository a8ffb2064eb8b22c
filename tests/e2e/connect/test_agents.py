"""Agents that know nothing of Reprise, run with environment variables alone, give complete sessions."""

from __future__ import annotations

import pytest

from tests.e2e.connect.conftest import Prompt, Run
from tests.e2e.connect.sdks import DOCS
from tests.e2e.connect.test_programs import REPLIES, TURNS, step
from tests.fakes.upstream import Upstream

AGENTS = sorted(path.parent.name for path in DOCS.glob("*/agent.mjs"))
TOOLS = ["get_order", "get_weather"]
# What an instrumentation does not record, as its page says.
WITHOUT_DEFINITIONS = {"anthropic-js", "openai-js"}


@pytest.mark.sdks
@pytest.mark.parametrize("name", AGENTS)
def test_a_conversation_with_the_agent_is_one_complete_session(
    run_agent: Run, upstream: Upstream, prompt: Prompt, name: str
) -> None:
    upstream.script(*REPLIES)

    done = run_agent(name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "It rains in Oslo." in done.stdout
    assert len(upstream.requests) == len(REPLIES)
    [session] = prompt.sessions()
    assert session["conversationId"]
    assert [(turn["user"], list(map(step, turn["steps"]))) for turn in session["turns"]] == TURNS
    for turn in session["turns"]:
        asked = [tool["name"] for tool in turn["offeredTools"] or ()]
        assert sorted(asked) == ([] if name in WITHOUT_DEFINITIONS else TOOLS)
        assert turn["usage"]["inputTokens"] > 0
        assert turn["warnings"] == []
    # The words of the answers, as the fake counts them: no call is counted twice.
    assert [turn["usage"]["outputTokens"] for turn in session["turns"]] == [6, 4]
    assert prompt.rejected() == []
