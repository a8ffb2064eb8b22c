"""Every command of docs/start.md, in its order, for each stack; the reader's agent runs in between."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
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
from tests.support.documents import read_document, run_blocks, shell_blocks
from tests.support.http_client import Client

PAGE = read_document("start.md")
SERVE, AGENT, LOOP, *STACKS, CHECK, REPLAY, GATE_PYTHON, GATE_NODE, WORKFLOW, VARIABLES, _, WHEEL = shell_blocks(PAGE)
LOOP_PY, GATE_PY, GATE_ASYNC_PY = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
(IS_MAIN,) = re.findall(r"`(if \(process\.argv.*?\))` in\s+JavaScript", PAGE)
SPAN, GATE_MJS = re.findall(r"^```js\n(.*?)^```$", PAGE, re.M | re.S)
OF_OPENAI = " opentelemetry-instrumentation-genai-openai"
CLIENT = '"$REPRISE_CLONE/clients/python[instrument]"'
CLIENT_SOURCE = ROOT / "clients" / "python" / "src"
INSTRUCTION = "Answer in a friendly tone."
ANSWERS = {"order": "Order 1042 has shipped from Oslo.", "weather": "It rains in Oslo."}
CALLS = {"order": ("get_order", {"order_id": "1042"}), "weather": ("get_weather", {"city": "Oslo"})}


def obedient(body: dict[str, Any]) -> Reply:
    """Look up what the user asks for, unless the instruction forbids it, and answer."""
    messages = body.get("messages") or body["input"]
    users = (message["content"] for message in reversed(messages) if message.get("role") == "user")
    asked = next(content for content in users if not is_result(content))
    topic = "order" if "order" in str(asked) else "weather"
    last = messages[-1]
    is_answered = last.get("role") == "tool" or is_result(last.get("content"))
    if is_answered or last.get("type") == "function_call_output" or "Never look" in str(body):
        return Reply(text=ANSWERS[topic])
    return Reply(tool_calls=[CALLS[topic]])


def is_result(content: object) -> bool:
    """Return whether the content of a message is a tool's result, which Anthropic's users send."""
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The folder of a clone in which `make run` has run, without what the page does not use."""
    clone = tmp_path / "reprise"
    clone.mkdir()
    for name in ("bin", "docs"):
        (clone / name).symlink_to(ROOT / name)
    (clone / ".venv").symlink_to(sys.prefix)
    return clone


@pytest.fixture
def client(upstream: Upstream, clone: Path) -> Iterator[Client]:
    upstream.choose = obedient
    with EmbeddedServer(clone / "var", vendors(upstream)) as server:
        yield server.client()


def vendors(upstream: Upstream) -> dict[str, str]:
    settings = {}
    for vendor in ("OPENAI", "ANTHROPIC"):
        settings |= {f"{vendor}_API_KEY": "sk-fake", f"{vendor}_BASE_URL": upstream.base_url(vendor)}
    return settings


def loop_in_python(program: str) -> str:
    """Return the loop around a client with the page's lines instead of those of the agent."""
    body, _ = replaced(program, "from opentelemetry import trace\n", "").split("tracer = ")
    # Anthropic's requests have the instruction outside of the messages.
    messages = "" if INSTRUCTION in body else f'{{"role": "system", "content": "{INSTRUCTION}"}}'
    lines = replaced(LOOP_PY, 'while question := input("You: "):', "for question in QUESTIONS:")
    return f"{body}messages = [{messages}]\n\n\n{FUNCTION_PY}\n\n{lines}"


def loop_in_javascript(program: str) -> str:
    """Return the loop around OpenAI's client with the page's span instead of the span of the agent."""
    body, _ = program.split("const tracer = ")
    imported, span = SPAN.split("\n\n")
    assert imported in body
    messages = f"const messages = [{{ role: 'system', content: '{INSTRUCTION}' }}];\n"
    attributes, turn = span.split("\n", 1)
    asked = replaced(ASKED_JS, "for (", f"{attributes}\nfor (")
    return f"{body}{messages}{FUNCTION_JS}{asked}{turn}console.log(answer);\n}}\n}}\n"


FUNCTION_PY = """\
def run_agent(question):
    print("Thinking.")
    messages.append({"role": "user", "content": question})
    return answer_turn(messages)
"""
FUNCTION_JS = """\
export function runAgent(question) {
  process.stdout.write('Thinking. ');
  messages.push({ role: 'user', content: question });
  return answerTurn(messages);
}
"""


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def with_function_in_python(program: str) -> str:
    """Return an agent with its turn as a function that a second file can import."""
    start, turn = program.split("for question in QUESTIONS:\n")
    function = re.sub(r"^    print\((.*)\)$", r"    return \1", turn, flags=re.M)
    asked = 'if __name__ == "__main__":\n    for question in QUESTIONS:\n        print(run_agent(question))\n'
    return f'{start}\n\ndef run_agent(question):\n    print("Thinking.")\n{function}\n\n{asked}'


def with_coroutine_in_python(program: str) -> str:
    function, _ = with_function_in_python(program).split("if __name__")
    coroutine = function.replace("def run_agent", "async def run_agent").replace("Runner.run_sync", "(await Runner.run")
    asked = (
        "async def main():\n    for question in QUESTIONS:\n        print(await run_agent(question))\n\n\n"
        'if __name__ == "__main__":\n    asyncio.run(main())\n'
    )
    return f"import asyncio\n{coroutine.replace(').final_output', ')).final_output')}{asked}"


def with_function_in_javascript(program: str) -> str:
    start, turn = program.split("for (const question of QUESTIONS) {\n")
    function = turn.replace("console.log(text);", "return text;")
    exported = f"export async function runAgent(question) {{\nprocess.stdout.write('Thinking. ');\n{function}"
    return f"{start}{exported}{ASKED_JS}console.log(await runAgent(question));\n}}\n}}\n"


ASKED_JS = f"{IS_MAIN} {{\nfor (const question of QUESTIONS) {{\n"


@dataclass(frozen=True)
class Stack:
    """A stack of the page: the folder of its agent, and what the reader does to run it."""

    page: str
    commands: list[str]
    change: Callable[[str], str]
    python_gate: str = GATE_PY

    @property
    def is_python(self) -> bool:
        return (DOCS / self.page / "agent.py").exists()


STACK_OF = {
    "loop in Python": Stack("openai", [LOOP], loop_in_python),
    "loop in Python, Anthropic": Stack("anthropic", [LOOP.replace(OF_OPENAI, "")], loop_in_python),
    "OpenAI Agents SDK": Stack("openai-agents", [STACKS[1]], with_function_in_python),
    "OpenAI Agents SDK with a coroutine": Stack("openai-agents", [STACKS[1]], with_coroutine_in_python, GATE_ASYNC_PY),
    "LangGraph": Stack("langgraph", [STACKS[0]], with_function_in_python),
    "Vercel AI SDK": Stack("vercel-ai-7", [STACKS[2]], with_function_in_javascript),
    "loop in JavaScript": Stack("openai-js", [STACKS[3]], loop_in_javascript),
}


def without_installing(command: str) -> str:
    """Return the commands that do not install packages, which are installed."""
    return re.sub(r"^(?:pip|npm) install (?:.*\\\n)*.*\n", "", command, flags=re.M)


def make_agent(stack: Stack, home: Path, folder: Path) -> None:
    """Write the reader's agent, a version that breaks, the page's second file, and the packages that it has."""
    shutil.copytree(DOCS / stack.page, folder)
    agent = folder / ("agent.py" if stack.is_python else "agent.mjs")
    program = stack.change(agent.read_text())
    agent.write_text(program)
    assert program.count(INSTRUCTION) == 1
    (folder / "broken").write_text(program.replace(INSTRUCTION, f"{INSTRUCTION} Never look anything up."))
    (folder / f"gate{agent.suffix}").write_text(stack.python_gate if stack.is_python else GATE_MJS)
    if stack.is_python:
        make_environment(folder / ".venv", home)
    else:
        (folder / "node_modules").symlink_to(home / "node_modules")


def make_environment(environment_: Path, home: Path) -> None:
    """Make a virtual environment of the reader with the packages of another one and their commands."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment_], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (own,) = environment_.glob("lib/python*/site-packages")
    (own / "home.pth").write_text(f"{packages}\n{CLIENT_SOURCE}\n")
    shutil.copy(home / "bin" / "opentelemetry-instrument", environment_ / "bin")


@pytest.mark.sdks
@pytest.mark.parametrize("name", STACK_OF)
def test_the_page_leads_from_a_name_to_a_gate_that_fails(
    client: Client,
    clone: Path,
    upstream: Upstream,
    home_of: Callable[[str], Path],
    tmp_path: Path,
    name: str,
) -> None:
    stack, folder = STACK_OF[name], tmp_path / "agent"
    make_agent(stack, home_of(stack.page), folder)
    variables = {
        # The reader's terminal knows nothing of Reprise.
        "PATH": os.pathsep.join(path for path in os.environ["PATH"].split(os.pathsep) if path != f"{sys.prefix}/bin"),
        **vendors(upstream),
        "OTEL_NODE_RESOURCE_DETECTORS": "none",
    }
    # The server runs in this checkout; that of a reader runs in the clone which has its data.
    enter = ["unset REPRISE_HOME", f"cd {folder}", AGENT, f'PATH="{clone}/bin:$PATH"']
    activate = ". .venv/bin/activate" if stack.is_python else ""
    commands = [without_installing(command) for command in stack.commands]
    agent, gate = ("agent.py", GATE_PYTHON) if stack.is_python else ("agent.mjs", GATE_NODE)

    printed = run_blocks(
        [*enter, activate, *commands, CHECK, REPLAY, gate, f"cp broken {agent}", gate, WORKFLOW], folder, variables
    )

    assert "Words: recorded.\n" in printed
    assert "turns: 2." in printed
    assert "Tools: 2 calls (get_order, get_weather).\n" in printed
    replayed, passed, failed = re.findall("^(PASSED|FAILED) +Order and weather · .*$", printed, re.M)
    assert (replayed, passed, failed) == ("PASSED", "PASSED", "FAILED"), printed
    assert "get_order was never called" in printed
    assert re.search(r"^exit code 1\n.*^rp_\S{20,}\n2\n\Z", printed, re.M | re.S), printed
    assert ElementTree.parse(folder / "gate.xml").getroot()[0].get("failures") != "0"
    assert (folder / ".github" / "workflows" / "program.yml").exists()

    # Another terminal, in which the agent's environment was activated first.
    again = run_blocks([activate, *enter, "command -v python || true", CHECK, "reprise --version"], folder, variables)
    if stack.is_python:
        assert again.startswith(f"{folder}/.venv/bin/python\n")
    assert "Tools: 2 calls" in again


def test_the_command_of_a_clone_that_was_never_served_names_what_to_run(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "bin", tmp_path / "bin")

    done = subprocess.run([tmp_path / "bin" / "reprise"], capture_output=True, text=True, check=False)

    assert (done.returncode, "Run `make run` in the clone first" in done.stderr) == (2, True)


def test_the_commands_that_install_the_client_name_its_extras_and_its_command() -> None:
    assert re.findall(r"reprise-client\[(.*)\] @", WHEEL) == ["cli", "cli"]
    assert CLIENT in LOOP
    metadata = tomllib.loads((CLIENT_SOURCE.parent / "pyproject.toml").read_text())["project"]
    assert {"cli", "instrument"} <= metadata["optional-dependencies"].keys()
    assert "reprise" in metadata["scripts"]


def test_the_first_block_serves() -> None:
    assert SERVE.endswith("\nmake run\n")


def test_the_variables_by_hand_are_those_of_the_line_that_serving_prints(client: Client, tmp_path: Path) -> None:
    access = {"BASE_URL": client.base_url, "API_KEY": client.api_key}
    (tmp_path / "agent").mkdir()
    names = re.findall(r"\bOTEL_\w+|\bANTHROPIC_\w+", VARIABLES)
    show = "; ".join(f'echo "{name}=${name}"' for name in names)

    by_hand = run_blocks([VARIABLES, show], tmp_path, access)
    by_line = run_blocks(["cd agent", AGENT, show], tmp_path, {})

    assert by_line == by_hand
    assert f"={client.base_url}/api/public/agents/shop-support/otel\n" in by_hand


WORDS_TO_THE_FIRST_SESSION = 290
"""With 230 words a minute, these leave 44 seconds of the two minutes to the machine."""


@pytest.mark.parametrize("heading", re.findall(r"^### (.*)$", PAGE, re.M))
def test_a_reader_comes_to_the_first_session_by_few_words(heading: str) -> None:
    readme, _ = (ROOT / "README.md").read_text(encoding="utf-8").split("![", 1)
    start, _ = PAGE.split("\n### ", 1)
    section = re.split(r"\n##", PAGE.split(f"\n### {heading}\n", 1)[1], maxsplit=1)[0]
    step, _ = PAGE.split("\n## 3. ", 1)[1].split("```sh", 1)

    # The target of a link is not read.
    read = re.sub(r"\]\(.*?\)", "]", "\n".join((readme, start, heading, section, step)))

    assert len(read.split()) <= WORDS_TO_THE_FIRST_SESSION


def test_each_stack_names_the_packages_that_its_agent_pins() -> None:
    for stack in STACK_OF.values():
        pinned = "".join(path.read_text() for path in (DOCS / stack.page).glob("[rp][ea][qc]*"))
        commands = "".join(stack.commands).replace("\\\n", "")
        packages = re.findall(r"^(?:pip|npm) install (.*)$", commands, re.M)
        for package in packages[0].split():
            assert package == CLIENT or package in pinned, package
