"""`reprise gate … -- program` against a real server: a program that works, and all the ways in which one fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.test_replay_command import prompt_with_a_tool, recorded_case
from tests.support.command_line import reprise
from tests.support.deployment import EmbeddedServer, environment
from tests.support.http_client import Client
from tests.support.waiting import free_port, wait_until

MARK = "REPRISE_REPLAY_TOKEN"
TOOL = {"name": "find", "parameters": {"type": "object", "properties": {"order": {"type": "string"}}}}
# Asks the model as any program would, and leaves a file behind if one of its tools has to be called.
ASK = f"""
import json, os, sys, time, urllib.request
messages = [{{"role": "system", "content": "Help."}}]
def ask(user):
    messages.append({{"role": "user", "content": user}})
    body = {{"model": "gpt-4o-mini", "messages": messages, "tools": [{{"type": "function", "function": {TOOL!r}}}]}}
    headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    if message.get("tool_calls"):
        open("a-tool-was-called", "w")
    return message["content"]
"""
LINES = f"""{ASK}
for line in sys.stdin:
    print(json.dumps({{"text": ask(json.loads(line)["user"])}}), flush=True)
"""
SERVED = f"""{ASK}
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({{"reply": [ask(sent["message"])], "thread": sent["thread"]}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer)
time.sleep(0.5)  # as one that needs time to start
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
# No client, no Python: a shell and curl.
SHELL = """
while read -r line; do
  user=$(printf %s "$line" | sed 's/.*"user": "\\([^"]*\\)".*/\\1/')
  body='{"model":"gpt-4o-mini","messages":[{"role":"system","content":"Help."},{"role":"user","content":"'$user'"}],'
  body="$body\\"tools\\":[{\\"type\\":\\"function\\",\\"function\\":$TOOL}]}"
  answer=$(curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \\
    -d "$body" "$OPENAI_BASE_URL/chat/completions")
  printf %s "$answer" | sed 's/.*"content":"\\([^"]*\\)".*/{"text": "\\1"}/'; echo
done
"""


@pytest.fixture(scope="module")
def vendor() -> Iterator[Upstream]:
    with Upstream() as vendor:
        yield vendor


@pytest.fixture(scope="module")
def server(vendor: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    model = {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": vendor.base_url("OPENAI")}
    with EmbeddedServer(tmp_path_factory.mktemp("gate"), {"REPRISE_RATE_LIMIT": "1000000", **model}) as server:
        yield server


@pytest.fixture
def client(server: EmbeddedServer, vendor: Upstream) -> Client:
    vendor.reset()
    vendor.choose = lambda body: answer(body)
    return server.client()


def answer(body: dict[str, Any], order: str = "A-1") -> Reply:
    """Find the order, then answer, as was recorded."""
    if body["messages"][-1]["role"] == "tool":
        return Reply(text="It is on its way.")
    return Reply(tool_calls=[("find", {"order": order})])


@pytest.fixture
def prompt_id(client: Client) -> int:
    prompt_id = prompt_with_a_tool(client)
    recorded_case(client, prompt_id, name="Where is it?")
    return prompt_id


def gate(
    client: Client, folder: Path, prompt_id: int, program: list[str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the gate over a program in `folder`; whatever came of it, no process of the program is left."""
    arguments = ["--prompt", str(prompt_id), "--revision", "r1", *options]
    done = reprise(client, folder, "gate", *arguments, "--", *program, folder=folder)
    assert running(folder) == []
    return done


def running(folder: Path) -> list[str]:
    """The processes in a folder that have the token of a replay in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                is_marked = f"{MARK}=".encode() in (process / "environ").read_bytes()
                if is_marked and (process / "cwd").resolve() == folder.resolve():
                    found.append((process / "cmdline").read_bytes().decode())
            except OSError:
                continue
    return found


def script(folder: Path, source: str) -> list[str]:
    path = folder / "agent.py"
    path.write_text(source)
    return [sys.executable, str(path)]


def test_a_program_that_reads_lines_passes_without_a_call_of_its_tools(
    client: Client, prompt_id: int, vendor: Upstream, tmp_path: Path
) -> None:
    files = ("--junit", "out.xml", "--json", "out.json", "--markdown", "out.md")

    done = gate(client, tmp_path, prompt_id, script(tmp_path, LINES), "--stdio", *files)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PASSED")
    assert not (tmp_path / "a-tool-was-called").exists()
    assert {request.body["messages"][0]["content"] for request in vendor.requests} == {"Help."}
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["exitCode"] == 0
    external = report["replays"][0]["replay"]["candidate"]["external"]
    assert external == {"name": tmp_path.name, "revision": "r1", "dirty": False}
    assert ElementTree.parse(tmp_path / "out.xml").find(".//testcase").get("name") == "Where is it?"  # type: ignore[union-attr]
    assert "Where is it?" in (tmp_path / "out.md").read_text()


def test_a_program_sends_no_traces_of_a_replay(client: Client, prompt_id: int, tmp_path: Path) -> None:
    switches = {"OTEL_SDK_DISABLED": "true", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    checking = LINES.replace("for line", f"assert {switches!r}.items() <= os.environ.items()\nfor line")

    done = gate(client, tmp_path, prompt_id, script(tmp_path, checking), "--stdio")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_that_serves_http_is_waited_for_and_asked(client: Client, prompt_id: int, tmp_path: Path) -> None:
    port = free_port()
    body = json.dumps({"message": "{{user}}", "thread": "{{conversation}}"})
    options = ("--program-url", f"http://127.0.0.1:{port}/chat", "--body", body, "--answer", "/reply/0")

    done = gate(client, tmp_path, prompt_id, [*script(tmp_path, SERVED), str(port)], *options)

    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "PASSED"), done.stderr


def test_a_shell_script_with_curl_is_a_program_too(
    client: Client, prompt_id: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.sh").write_text(f"TOOL='{json.dumps(TOOL)}'\n{SHELL}")

    done = gate(client, tmp_path, prompt_id, ["sh", "agent.sh"], "--stdio")

    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "PASSED"), done.stdout + done.stderr


def test_a_second_line_in_a_turn_ends_in_2(client: Client, prompt_id: int, tmp_path: Path) -> None:
    twice = LINES.replace(", flush=True)", ", 'done', sep='\\n', flush=True)")

    done = gate(client, tmp_path, prompt_id, script(tmp_path, twice), "--stdio")

    assert (done.returncode, "is no answer to a turn: 'done'" in done.stdout) == (2, True), done.stdout + done.stderr


def test_a_changed_instruction_that_breaks_a_step_fails(
    client: Client, prompt_id: int, vendor: Upstream, tmp_path: Path
) -> None:
    vendor.choose = lambda body: answer(body, "A-1" if body["messages"][0]["content"] == "Help." else "A-2")
    changed = script(tmp_path, LINES.replace('"content": "Help."', '"content": "Help with the newest order."'))

    done = gate(client, tmp_path, prompt_id, changed, "--stdio")

    assert (done.returncode, done.stdout.partition(" ")[0]) == (1, "FAILED")
    assert "A-2" in done.stdout


def printed(line: str) -> str:
    return f"sys.stdin.readline(); print({line!r}, flush=True); time.sleep(9)"


BROKEN = {
    "crash": ("print('no config', file=sys.stderr); sys.exit(3)", "ended with code 3", "no config"),
    "crash in a turn": ("sys.stdin.readline(); sys.exit('no database')", "ended with code 1", "no database"),
    "hang": ("sys.stdin.readline(); time.sleep(600)", "did not answer within 2 s", "printed nothing"),
    "rubbish": (printed("Ready!"), "is no JSON: 'Ready!'", "as gate.py and gate.mjs of docs/start.md do"),
    "no answer": (printed('{"text": ""}'), "gave no answer to turn 1", ""),
    "another field": (printed('{"a": 1}'), "has nothing at /text", ""),
    "around": (printed('{"text": "Yes."}'), "no model was called at the replay's endpoint", "OPENAI_BASE_URL"),
    "deaf": (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.stdin.readline(); time.sleep(600)",
        "did not answer within 2 s",
        "",
    ),
    "forks": (
        "import subprocess; subprocess.Popen(['sleep', '600']); "
        "subprocess.Popen(['sleep', '601'], start_new_session=True); sys.stdin.readline(); time.sleep(600)",
        "did not answer within 2 s",
        "",
    ),
}


@pytest.mark.parametrize(("source", "problem", "more"), BROKEN.values(), ids=BROKEN)
def test_a_broken_program_ends_in_2_with_the_reason_and_its_last_lines(
    client: Client, prompt_id: int, tmp_path: Path, source: str, problem: str, more: str
) -> None:
    program = script(tmp_path, f"import sys, time\n{source}\n")

    done = gate(client, tmp_path, prompt_id, program, "--stdio", "--turn-timeout", "2")

    assert (done.returncode, problem in done.stdout, more in done.stdout) == (2, True, True), done.stdout + done.stderr
    replays = client.get(f"/api/v1/prompts/{prompt_id}/replays").json()["replays"]
    assert [replay["status"] for replay in replays] == ["cancelled"]


def test_a_program_that_does_not_open_its_port_or_finds_it_taken_ends_in_2(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    silent = script(tmp_path, "import time; time.sleep(600)")
    options = ("--program-url", f"http://127.0.0.1:{free_port()}/chat", "--start-timeout", "1")
    done = gate(client, tmp_path, prompt_id, silent, *options)
    assert (done.returncode, "within 1 s" in done.stdout) == (2, True), done.stdout

    done = gate(client, tmp_path, prompt_id, silent, "--program-url", f"{client.base_url}/chat")
    assert (done.returncode, "Something else already answers" in done.stdout) == (2, True), done.stdout


def test_a_command_that_does_not_exist_ends_in_2(client: Client, prompt_id: int, tmp_path: Path) -> None:
    done = gate(client, tmp_path, prompt_id, ["no-such-program"], "--stdio")
    assert (done.returncode, "no-such-program can't be started" in done.stdout) == (2, True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "Name how the program is asked"),
        (("--stdio", "--program-url", "http://127.0.0.1:1"), "Name how the program is asked"),
        (("--program-url", "http://127.0.0.1:1", "--body", "{"), "--body is no JSON"),
        (("--program-url", "127.0.0.1:3000/chat"), "begins with http:// or https://"),
        (("--program-url", "http:///chat"), "has a host"),
        (("--program-url", "http://127.0.0.1:port"), "--program-url http://127.0.0.1:port: "),
        (("--program-url", "http://127.0.0.1:99999"), "--program-url http://127.0.0.1:99999: "),
        (("--stdio", "--answer", "reply"), "a JSON pointer begins with a slash"),
        (("--stdio", "--model", "gpt-4o"), "--model is not for a program"),
    ],
)
def test_wrong_options_end_in_2(
    client: Client, prompt_id: int, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    done = gate(client, tmp_path, prompt_id, ["true"], *options)
    assert (done.returncode, problem in done.stdout + done.stderr) == (2, True), done.stdout + done.stderr


def test_the_revision_is_the_commit_of_the_working_tree(client: Client, prompt_id: int, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    program = script(tmp_path, LINES)
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "agent.py").write_text(LINES + "\n")

    done = reprise(client, tmp_path, "gate", "--prompt", str(prompt_id), "--stdio", "--", *program, folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    (replay,) = client.get(f"/api/v1/prompts/{prompt_id}/replays").json()["replays"]
    assert replay["candidate"]["external"] == {"name": tmp_path.name, "revision": commit, "dirty": True}


def test_a_folder_without_a_commit_is_replayed_and_makes_no_experiment(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    program = script(tmp_path, LINES)
    command = ("gate", "--prompt", str(prompt_id), "--stdio")

    once = reprise(client, tmp_path, *command, "--", *program, folder=tmp_path)
    often = reprise(client, tmp_path, *command, "--repeats", "2", "--", *program, folder=tmp_path)

    assert once.returncode == 0, once.stdout + once.stderr
    (replay,) = client.get(f"/api/v1/prompts/{prompt_id}/replays").json()["replays"]
    external = {"name": tmp_path.name, "revision": "uncommitted", "dirty": True}
    assert replay["candidate"]["external"] == external
    assert (often.returncode, "with --revision: there is no commit here" in often.stdout) == (2, True), often.stdout


def test_an_interrupted_command_leaves_no_program_and_no_replay(client: Client, prompt_id: int, tmp_path: Path) -> None:
    settings = {"REPRISE_API_KEY": client.api_key, "REPRISE_URL": client.base_url}
    program = script(tmp_path, "import sys, time\nsys.stdin.readline(); time.sleep(600)")
    command = [sys.executable, "-m", "reprise_client", "gate", "--prompt", str(prompt_id), "--revision", "r", "--stdio"]
    process = subprocess.Popen([*command, "--", *program], env=environment(tmp_path, settings), cwd=tmp_path)
    wait_until(lambda: running(tmp_path), "the program")
    time.sleep(0.2)

    process.terminate()

    assert process.wait(60) == 2
    assert running(tmp_path) == []
    (replay,) = client.get(f"/api/v1/prompts/{prompt_id}/replays").json()["replays"]
    assert replay["status"] == "cancelled"


OWN_TOOLS = f"""{ASK.replace('open("a-tool-was-called", "w")', "return use(message)")}
from reprise_client.replay import tool
@tool
def find(order):
    open("a-tool-was-called", "w")
def use(message):
    for call in message["tool_calls"]:
        result = find(**json.loads(call["function"]["arguments"]))
        messages.append({{"role": "tool", "tool_call_id": call["id"], "content": result}})
    body = {{"model": "gpt-4o-mini", "messages": messages}}
    headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
for line in sys.stdin:
    print(json.dumps({{"text": ask(json.loads(line)["user"])}}), flush=True)
"""


def test_a_programs_own_tools_ask_the_replay_in_the_place_of_their_functions(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    done = gate(client, tmp_path, prompt_id, script(tmp_path, OWN_TOOLS), "--stdio", "--tools", "program")

    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "PASSED"), done.stdout + done.stderr
    assert not (tmp_path / "a-tool-was-called").exists()
