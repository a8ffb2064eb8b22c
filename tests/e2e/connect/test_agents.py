"""Agents that know nothing of Reprise, run with only environment variables, give complete sessions that replay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.connect.conftest import AGENTS, Prompt, Run
from tests.e2e.connect.sdks import DOCS
from tests.e2e.connect.test_programs import REPLIES, TURNS, step
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply

PAGES = sorted(path.parent.name for agent in AGENTS for path in DOCS.glob(f"*/{agent}"))
SPAN = 'with tracer.start_as_current_span("turn", attributes=conversation):'
TOOLS = ["get_order", "get_weather"]
# What an instrumentation does not record, according to its page.
WITHOUT_DEFINITIONS = {"anthropic", "anthropic-js", "openai-js"}
RECORDED_TWICE = {
    "semantic-kernel": ["2 spans repeat other spans of the same call and are no steps."],
}


@pytest.mark.sdks
@pytest.mark.parametrize("name", PAGES)
def test_a_conversation_with_the_agent_is_a_complete_session_that_replays(
    run_agent: Run, upstream: Upstream, prompt: Prompt, name: str
) -> None:
    upstream.script(*REPLIES)

    done = run_agent(name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "It rains in Oslo." in done.stdout
    assert len(upstream.requests) == len(REPLIES)
    # AutoGen records the making of an agent, too.
    [session] = [one for one in prompt.sessions() if any(turn["steps"] for turn in one["turns"])]
    assert session["conversationId"]
    assert [(question(turn), list(map(own_step, turn["steps"]))) for turn in session["turns"]] == TURNS
    for turn in session["turns"]:
        asked = [own(tool["name"]) for tool in turn["offeredTools"] or ()]
        assert sorted(asked) == ([] if name in WITHOUT_DEFINITIONS else TOOLS)
        assert turn["usage"]["inputTokens"] > 0
        assert turn["warnings"] == RECORDED_TWICE.get(name, [])
    # The words of the answers, as the fake counts them: no call is counted twice.
    assert [turn["usage"]["outputTokens"] for turn in session["turns"]] == [6, 4]
    assert prompt.rejected() == []

    upstream.script(*(repeated(one) for turn in session["turns"] for one in turn["steps"]))
    assert prompt.replayed(session)["status"] == "passed"


@pytest.mark.sdks
@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_without_a_span_around_them_the_last_model_call_of_a_turn_has_all_of_it(
    run_agent: Run, upstream: Upstream, prompt: Prompt, name: str
) -> None:
    upstream.script(*REPLIES)

    done = run_agent(name, change=lambda program: program.replace(SPAN, "if True:"))

    assert done.returncode == 0, done.stdout + done.stderr
    _, first, _, second = reversed(prompt.sessions())
    assert [len(session["turns"]) for session in (first, second)] == [1, 1]
    assert [list(map(step, session["turns"][0]["steps"])) for session in (first, second)] == [
        steps for _, steps in TURNS
    ]
    upstream.script(*map(repeated, first["turns"][0]["steps"]))
    assert prompt.replayed(first)["status"] == "passed"


LANGSMITH = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_OTEL_ENABLED": "true",
    "LANGSMITH_OTEL_ONLY": "true",
    "LANGSMITH_API_KEY": "any",
    "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "langchain",
}


@pytest.mark.sdks
@pytest.mark.parametrize(
    "others", [{"OPENINFERENCE_ENABLE_GENAI_SEMCONV": "true"}, LANGSMITH], ids=["dual", "langsmith"]
)
def test_langgraph_is_recorded_by_its_other_switches_as_well(
    run_agent: Run, upstream: Upstream, prompt: Prompt, others: dict[str, str]
) -> None:
    upstream.script(*REPLIES)

    done = run_agent("langgraph", **others)

    assert done.returncode == 0, done.stdout + done.stderr
    [session] = prompt.sessions()
    assert session["conversationId"]
    assert [(turn["user"], list(map(step, turn["steps"]))) for turn in session["turns"]] == TURNS
    assert prompt.rejected() == []


def question(turn: Any) -> str:
    """Return the user's words, without the text that a crew writes around them."""
    lines = turn["user"].strip().splitlines()
    return str(lines[0]).removeprefix("Current Task: ")


def own(tool: str) -> str:
    """A tool's name without the plugin's, which Semantic Kernel writes before it."""
    return tool.removeprefix("Shop-")


def own_step(shown: Any) -> Any:
    return step(shown | {"name": own(shown["name"])} if "name" in shown else shown)


def repeated(recorded: Any) -> Reply:
    """The model's part in a step."""
    if recorded["kind"] == "answer":
        return Reply(text=recorded["text"])
    return Reply(tool_calls=[(recorded["name"], recorded["arguments"])])


TELEMETRY = sorted(path.parent.name for path in DOCS.glob("*/telemetry.mjs"))


@pytest.mark.sdks
@pytest.mark.parametrize("name", TELEMETRY)
def test_an_agent_ends_well_while_reprise_is_away(run_agent: Run, upstream: Upstream, name: str) -> None:
    upstream.script(*REPLIES)

    done = run_agent(name, BASE_URL="http://127.0.0.1:9")

    assert (done.returncode, "It rains in Oslo." in done.stdout) == (0, True), done.stderr
