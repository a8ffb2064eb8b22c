"""Every command of docs/start.md, in its order, for each stack; the reader's agent runs in between."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.e2e.connect.sdks import DOCS
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.deployment import ROOT, EmbeddedServer
from tests.support.documents import access, read_document, run_blocks, shell_blocks
from tests.support.http_client import Client

PAGE = read_document("start.md")
SERVE, SETTINGS, INSTALL_LOOP, VARIABLES, *STACKS, CHECK, REPLAY, GATE, WORKFLOW = shell_blocks(PAGE)
PYTHON_LINES, SPAN = (
    re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)[1]  # type: ignore[index]
    for language in ("python", "js")
)
ANSWERS = {"order": "Order 1042 has shipped from Oslo.", "weather": "It rains in Oslo."}
CALLS = {"order": ("get_order", {"order_id": "1042"}), "weather": ("get_weather", {"city": "Oslo"})}


def obedient(body: dict[str, Any]) -> Reply:
    """Look up what the user asks for, unless the instruction forbids it, and answer."""
    messages = body.get("messages") or body["input"]
    asked = next(message["content"] for message in reversed(messages) if message.get("role") == "user")
    topic = "order" if "order" in str(asked) else "weather"
    is_answered = messages[-1].get("role") == "tool" or messages[-1].get("type") == "function_call_output"
    if is_answered or "Never look" in str(messages[0]["content"]):
        return Reply(text=ANSWERS[topic])
    return Reply(tool_calls=[CALLS[topic]])


@pytest.fixture
def client(upstream: Upstream, tmp_path: Path) -> Iterator[Client]:
    upstream.choose = obedient
    settings = {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": upstream.base_url("OPENAI")}
    with EmbeddedServer(tmp_path / "home", settings) as server:
        yield server.client()


def loop_in_python(folder: Path) -> None:
    """Write the loop around OpenAI's client with the page's lines instead of the agent's span."""
    program = (folder / "agent.py").read_text().replace("from opentelemetry import trace\n", "")
    body, _ = program.split("tracer = ")
    start, lines = PYTHON_LINES.split("\n\nwith ")
    run = (
        '\nmessages = [{"role": "system", "content": "Answer in a friendly tone."}]\nthread_id = "thread-1"\n\n\n'
        "def run_agent(question):\n"
        '    messages.append({"role": "user", "content": question})\n'
        "    return answer_turn(messages)\n\n\n"
        "for question in QUESTIONS:\n"
    )
    (folder / "agent.py").write_text(f"{start}\n{body}{run}{textwrap.indent(f'with {lines}', '    ')}")


def loop_in_javascript(folder: Path) -> None:
    """Write the loop around OpenAI's client with the page's span instead of the span of the agent."""
    program = (folder / "agent.mjs").read_text()
    body, _ = program.split("const tracer = ")
    imported, span = SPAN.split("\n\nconst attributes")
    run = (
        "const messages = [{ role: 'system', content: 'Answer in a friendly tone.' }];\nconst threadId = 'thread-1';\n"
        "const runAgent = (question) => {\n  messages.push({ role: 'user', content: question });\n"
        "  return answerTurn(messages);\n};\nfor (const question of QUESTIONS) {\n"
    )
    assert imported in body
    (folder / "agent.mjs").write_text(f"{body}{run}const attributes{span}}}\n")


@dataclass(frozen=True)
class Stack:
    """A stack of the page: the folder of its agent, and what the reader does to run it."""

    page: str
    commands: list[str]
    change: Callable[[Path], None] = lambda _: None


STACK_OF = {
    "loop in Python": Stack("openai", [INSTALL_LOOP, "python agent.py"], loop_in_python),
    "LangGraph": Stack("langgraph", [VARIABLES, STACKS[0]]),
    "Vercel AI SDK": Stack("vercel-ai-7", [VARIABLES, STACKS[1]]),
    "loop in JavaScript": Stack("openai-js", [VARIABLES, STACKS[2]], loop_in_javascript),
}


def without_installing(command: str) -> str:
    """Return the commands that do not install packages, which are installed."""
    return re.sub(r"^(?:pip|npm) install .*\n", "", command, flags=re.M)


@pytest.mark.sdks
@pytest.mark.parametrize("name", STACK_OF)
def test_the_page_leads_from_a_name_to_a_gate_that_fails(
    client: Client, upstream: Upstream, home_of: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    stack = STACK_OF[name]
    home, folder = home_of(stack.page), tmp_path / "agent"
    shutil.copytree(DOCS / stack.page, folder)
    stack.change(folder)
    variables = {
        **access(client),
        "REPRISE_URL": client.base_url,
        "REPRISE_API_KEY": client.api_key,
        "REPRISE_CLONE": str(ROOT),
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
        "OTEL_NODE_RESOURCE_DETECTORS": "none",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    commands = [without_installing(command) for command in stack.commands]
    if (home / "node_modules").exists():
        (folder / "node_modules").symlink_to(home / "node_modules")
    else:
        client_path = f"PYTHONPATH={ROOT / 'clients' / 'python' / 'src'}"
        commands[-1] = re.sub(
            r"^(?=python|opentelemetry-instrument)",
            f"PATH={home / 'bin'}:$PATH {client_path} ",
            commands[-1],
            flags=re.M,
        )

    printed = run_blocks([*commands, CHECK, REPLAY, GATE, WORKFLOW], folder, variables)

    assert "Words: recorded.\n" in printed
    assert "turns: 2." in printed
    assert "Tools: 2 calls (get_order, get_weather).\n" in printed
    assert "PASSED       Order and weather · 4 passed" in printed
    assert "FAILED  1 of 1 test got worse than version " in printed
    assert printed.rstrip().endswith("exit code 1")
    assert ElementTree.parse(folder / "gate.xml").getroot()[0].get("failures") != "0"
    assert (folder / ".github" / "workflows" / "prompts.yml").exists()
    assert "Answer in a friendly tone." in (folder / "prompts" / "support.md").read_text()


def test_the_first_blocks_serve_and_read_what_serving_wrote() -> None:
    assert SERVE.endswith(" make run\n")
    assert "var/dev.env" in SETTINGS
    for name in ("BASE_URL", "API_KEY"):
        assert f'"${name}"' in SETTINGS


def test_each_stack_names_the_packages_that_its_agent_pins() -> None:
    for stack in STACK_OF.values():
        pinned = "".join(path.read_text() for path in (DOCS / stack.page).glob("[rp][ea][qc]*"))
        packages = re.findall(r"^(?:pip|npm) install (.*)$", "".join(stack.commands), re.M)
        for package in packages[0].split():
            assert "REPRISE_CLONE" in package or package in pinned, package
