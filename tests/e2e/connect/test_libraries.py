"""The newest releases of more agent libraries, run with environment variables only, give complete sessions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.connect.conftest import AGENTS, PROGRAM_TIMEOUT_S, Prompt
from tests.e2e.connect.sdks import DOCS, NotInstalled, installed
from tests.e2e.connect.test_agents import TOOLS, own_step
from tests.e2e.connect.test_programs import REPLIES, TURNS
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply

FOLDERS = Path(__file__).with_name("agents")


@dataclass(frozen=True)
class Library:
    """How what a library records differs from what others record."""

    replies: tuple[Reply, ...] = REPLIES
    turns: list[Any] = field(default_factory=lambda: TURNS)
    tools: list[str] = field(default_factory=lambda: TOOLS)
    before_question: str = ""
    has_tokens: bool = True


def with_final_answers(key: str, before_question: str, result: str | None = None) -> Library:
    """The model answers by a call of a tool, which has the answer as its result if it has no other."""
    answers = tuple(Reply(tool_calls=[("final_answer", {key: reply.text})]) for reply in REPLIES[1::2])
    turns = [
        (question, [call, ("final_answer", {key: answer}, result or answer, None)])
        for question, (call, answer) in TURNS
    ]
    replies = (REPLIES[0], answers[0], REPLIES[2], answers[1])
    return Library(replies, turns, ["final_answer", *TOOLS], before_question)


def with_fields() -> Library:
    """DSPy asks the model for texts with named fields, and offers a tool that ends the steps."""
    replies = []
    for called, answered in zip(REPLIES[::2], REPLIES[1::2], strict=True):
        for name, arguments in (*called.tool_calls, ("finish", {})):
            replies.append(fields(next_thought="I look.", next_tool_name=name, next_tool_args=json.dumps(arguments)))
        replies.append(fields(reasoning="It is known.", answer=answered.text))
    turns = [(question, [call, ("finish", {}, "Completed.", None), answer]) for question, (call, answer) in TURNS]
    return Library(tuple(replies), turns, tools=[], has_tokens=False)


def fields(**values: str | None) -> Reply:
    return Reply(text="\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()))


def with_named_results() -> Library:
    """Google's client sends the result of a function as an object with the key `result`."""
    turns = [
        (question, [(name, arguments, {"result": result}, error), answer])
        for question, ((name, arguments, result, error), answer) in TURNS
    ]
    return Library(turns=turns)


LIBRARIES = {
    "ag2": Library(tools=[]),
    "agent-framework": Library(),
    "agno": Library(),
    "beeai": with_final_answers("response", "Your task: ", "Message has been sent"),
    "dspy": with_fields(),
    "google-genai": with_named_results(),
    "haystack": Library(),
    "litellm": Library(),
    "livekit": Library(),
    "mistral": Library(),
    "smolagents": with_final_answers("answer", "New task:\n"),
    "strands": Library(),
}
# An installation of more than 200 MB.
HEAVY = {"dspy", "litellm", "livekit"}


@pytest.mark.sdks
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.weekly if name in HEAVY else ()) for name in LIBRARIES]
)
def test_a_conversation_is_a_complete_session(
    upstream: Upstream, prompt: Prompt, variables: dict[str, str], tmp_path: Path, require: Any, name: str
) -> None:
    library = LIBRARIES[name]
    upstream.script(*library.replies)

    done = run(name, variables | {"UPSTREAM": upstream.url}, tmp_path, require)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "It rains in Oslo." in done.stdout
    [session] = prompt.sessions()
    assert session["conversationId"]
    read = [
        (turn["user"].removeprefix(library.before_question), list(map(own_step, turn["steps"])))
        for turn in session["turns"]
    ]
    assert read == library.turns
    for turn in session["turns"]:
        assert sorted(map(name_of, turn["offeredTools"] or ())) == library.tools
        assert (turn["usage"]["inputTokens"] > 0) == library.has_tokens
        assert turn["warnings"] == []
    assert prompt.rejected() == []


def run(name: str, variables: dict[str, str], folder: Path, require: Any) -> subprocess.CompletedProcess[str]:
    """Run the agent of a folder with what it pins, as a page of docs/connect runs its agent."""
    try:
        home = installed(FOLDERS / name)
    except NotInstalled as missing:
        require(str(missing))
        raise
    shutil.copytree(FOLDERS / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    env = variables | {"PATH": f"{home / 'bin'}{os.pathsep}{variables['PATH']}"}
    command = ["bash", "-ec", AGENTS["agent.py"]]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False
    )


def name_of(tool: Any) -> str:
    """Return the name of an offered tool, which Strands records without a definition."""
    return tool if isinstance(tool, str) else str(tool["name"])


def test_each_folder_is_run() -> None:
    assert sorted(path.name for path in FOLDERS.iterdir()) == sorted(LIBRARIES)


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_index_names_the_releases_that_are_run(name: str) -> None:
    index = (DOCS / "README.md").read_text()
    for line in (FOLDERS / name / "requirements.txt").read_text().splitlines():
        package, _, version = line.partition("==")
        if not package.startswith(("opentelemetry-", "openai", "sqlalchemy")):
            assert f"`{package.partition('[')[0]}` {version}" in index


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_index_names_the_variables_of_a_library(name: str) -> None:
    index = (DOCS / "README.md").read_text()
    for line in (FOLDERS / name / "agent.env").read_text().splitlines():
        if not line.startswith(("OTEL_", "MISTRAL_API_KEY", "MISTRAL_BASE_URL")):
            assert f"`{line}`" in index
