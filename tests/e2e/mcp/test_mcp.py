"""The official MCP clients over standard input and output, with the configuration of docs/mcp.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.connect.sdks import NotInstalled, installed
from tests.e2e.ui.work import seed_findings
from tests.support.conversations import RecordedTurn
from tests.support.deployment import ROOT, EmbeddedServer
from tests.support.documents import SHOP, read_document, record_session, shop_variables
from tests.support.http_client import Client
from tests.support.waiting import wait_until

pytestmark = pytest.mark.sdks

HERE = Path(__file__).parent
PAGE = read_document("mcp.md")
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def shop(backend: EmbeddedServer) -> dict[str, str]:
    return shop_variables(backend.client())


@pytest.fixture
def python(require: Callable[[str | None], None]) -> Path:
    try:
        return installed(HERE) / "bin" / "python"
    except NotInstalled as missing:
        require(str(missing))
        raise


@pytest.fixture(params=["Python", "JavaScript"])
def client(request: pytest.FixtureRequest, python: Path, require: Callable[[str | None], None]) -> list[str | Path]:
    """The command of a program that sends requests with an official client."""
    if request.param == "Python":
        return [python, HERE / "client.py"]
    try:
        return ["node", HERE / "client.mjs", installed(HERE / "js")]
    except NotInstalled as missing:
        require(str(missing))
        raise


@pytest.fixture
def ask(python: Path, client: list[str | Path], shop: dict[str, str], tmp_path: Path) -> Ask:
    """Sends requests to a server that is started with the page's commands, with `reprise` on the path."""
    command = tmp_path / "reprise"
    source = ROOT / "clients/python/src"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {shlex.quote(str(python))} -m reprise_client "$@"\n')
    command.chmod(0o755)
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    configured = json.loads(block)["mcpServers"]["reprise"]
    names = {"REPRISE_URL": shop["BASE_URL"], "REPRISE_API_KEY": shop["API_KEY"]}
    assert configured["env"].keys() == names.keys()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    def ask(*requests: Any) -> list[dict[str, Any]]:
        told = {"server": {**configured, "env": {**names, "PATH": path}}, "requests": requests}
        done = subprocess.run(
            client,
            input=json.dumps(told),
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers

    return ask


def test_an_agent_reads_and_tests_a_prompt(ask: Ask, shop: dict[str, str]) -> None:
    prompt_id = int(shop["PROMPT_ID"])
    prompts, prompt, sessions, gate, resource, mend, skill = ask(
        ["tool", "list_prompts", {}],
        ["tool", "read_prompt", {"prompt_id": prompt_id}],
        ["tool", "list_sessions", {"prompt_id": prompt_id}],
        ["tool", "run_gate", {"prompt_id": prompt_id, "text": "Help everybody."}],
        ["resource", f"reprise://prompts/{prompt_id}", {}],
        ["prompt", "mend", {"prompt_id": str(prompt_id)}],
        ["prompt", "reprise-gate-a-change", {}],
    )

    assert f"{prompt_id}: Shop" in prompts["text"]
    assert prompt["text"].endswith("Text:\nHelp customers.\n")
    assert "A-1" in sessions["text"]
    assert "**Passed.** 1 test passes as often as with version" in gate["text"]
    assert resource == prompt
    assert f"Mend prompt {prompt_id} of Reprise." in mend["text"]
    assert skill["text"].startswith("# Gate a change of a prompt\n")


def test_a_refusal_is_an_error_in_the_servers_words(ask: Ask) -> None:
    tool, resource, argument = ask(
        ["tool", "read_prompt", {"prompt_id": 9999999}],
        ["resource", "reprise://prompts/9999999", {}],
        ["tool", "read_prompt", {"prompt_id": "x"}],
    )

    assert [one["error"] for one in (tool, resource, argument)] == [True] * 3
    assert "There is no such prompt." in tool["text"]
    assert "There is no such prompt." in resource["text"]


def test_every_tool_of_the_page_is_served_with_what_it_does(ask: Ask) -> None:
    (answer,) = ask(["tools", "", {}])

    tools = json.loads(answer["text"])
    assert {name for name in tools if f"`{name}`" not in PAGE} == set()
    assert {name for name, (_, reads_only, _) in tools.items() if not reads_only} == {
        "run_replay",
        "run_gate",
        "cancel_gate",
        "run_guard_map",
        "make_guard_tests",
        "change_finding",
    }
    assert all(description for description, *_ in tools.values())


FAULTS = [{"tool": "find", "call": 0, "kind": "timeout"}]
VALUES = [{"name": "all", "content": "all", "isDefault": True}, {"name": "one", "content": "one"}]
PLACEHOLDER = {"key": "whom", "values": VALUES}
# The arguments of each call, and a part of its answer. What is in braces is known only when the test runs.
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("list_prompts", {"search": "Concier"}, "{prompt_id}: Concierge"),
    ("list_prompts", {"cursor": "{cursor}"}, "Shop"),
    ("read_prompt", {"prompt_id": "{prompt_id}", "version": "{digits}", "offset": 3}, "sion: {digits}"),
    ("list_versions", {"prompt_id": "{prompt_id}"}, "{digits}"),
    ("render_prompt", {"prompt_id": "{prompt_id}", "placeholders": {"whom": "one"}}, "Help one."),
    ("render_prompt", {"prompt_id": "{prompt_id}", "version": "latest", "offset": 4}, "Help all."),
    (
        "list_sessions",
        {"prompt_id": "{prompt_id}", "search": "way", "errors": False, "score": "helpful", "max_score": 0.5},
        "{session_id}: ",
    ),
    ("list_sessions", {"prompt_id": "{prompt_id}", "failed_tool": "find"}, "There are none."),
    ("list_sessions", {"errors": True}, "errors: 1, Broken"),
    ("list_sessions", {"cursor": "x"}, "cursor"),
    ("read_session", {"session_id": "{session_id}", "offset": 9}, 'Call: find {{"order": "A-1"}}'),
    ("read_insight", {"prompt_id": "{prompt_id}", "group_by": "day", "days": 366}, "replays passed: "),
    ("read_insight", {"prompt_id": "{prompt_id}", "group_by": "model"}, "sessions: "),
    ("propose_suite", {"prompt_id": "{prompt_id}", "size": 3}, "session"),
    ("list_findings", {"prompt_id": "{wrong}", "state": "open", "days": 90}, "`Broken` fails"),
    ("read_finding", {"prompt_id": "{wrong}", "finding_id": "{finding_id}"}, "Session "),
    (
        "change_finding",
        {"prompt_id": "{wrong}", "finding_id": "{finding_id}", "state": "solved", "solved_version": "{broken}"},
        "solved",
    ),
    ("change_finding", {"prompt_id": "{wrong}", "finding_id": "{finding_id}", "assignee": ""}, "solved"),
    ("list_schedules", {"prompt_id": "{prompt_id}"}, "The prompt has no schedule"),
    ("show_watch", {"schedule_id": "{schedule_id}"}, "The next run begins the reference."),
    ("read_coverage", {"prompt_id": "{prompt_id}"}, "The prompt has no suite"),
    ("run_replay", {"test_case_id": "{case_id}", "variant": "slow", "wait_s": 50}, "Failed on purpose: call 0 of find"),
    ("run_replay", {"test_case_id": "{case_id}", "faults": FAULTS, "wait_s": 50.0}, "find, timeout"),
    ("read_replay", {"replay_id": "{replay_id}", "offset": 2}, "play {replay_id} of test case {case_id}"),
    ("list_failures", {"prompt_id": "{prompt_id}"}, ""),
    (
        "run_gate",
        {
            "prompt_id": "{prompt_id}",
            "text": "Help {{{{whom}}}} gladly.",
            "version": "{digits}",
            "baseline": "none",
            "detect": 0.5,
            "max_cost": 1,
            "wait_s": 50,
        },
        "of prompt {prompt_id}: finished",
    ),
    ("run_gate", {"prompt_id": "{prompt_id}", "candidates": {"a": "Help.", "b": "Help all."}, "detect": 0.5}, "Gate "),
    ("read_gate", {"experiment_id": "{experiment_id}", "wait_s": 50, "offset": 5}, "{experiment_id} of prompt"),
    ("cancel_gate", {"experiment_id": "{experiment_id}"}, "409"),
    (
        "run_guard_map",
        {
            "prompt_id": "{prompt_id}",
            "suite": "none",
            "first_line": 1,
            "last_line": 9,
            "max_replays": 5,
            "max_cost": 1,
            "model_mutants": True,
            "wait_s": 1,
        },
        "no suite with this name",
    ),
    ("run_guard_map", {"prompt_id": "{prompt_id}", "max_replays": 5}, "Guard map "),
    ("read_guard_map", {"map_id": "{map_id}", "wait_s": 1, "offset": 1}, "uard map {map_id} of prompt {prompt_id}"),
    ("list_guard_offers", {"map_id": "{unguarded_id}"}, "Sentence 0: Find each parcel."),
    ("make_guard_tests", {"map_id": "{unguarded_id}", "sentence": 0}, "Test case "),
    ("make_guard_tests", {"map_id": "{unguarded_id}", "sentence": 9, "session_ids": ["x"]}, "no such sentence"),
]
REFUSED = {
    ("list_sessions", "cursor"),
    ("cancel_gate", "experiment_id"),
    ("run_guard_map", "suite"),
    ("make_guard_tests", "session_ids"),
}


def filled(value: Any, known: dict[str, Any]) -> Any:
    """Return a value of `CALLS` with what is in braces; a name in braces is the value of this name."""
    if isinstance(value, dict):
        return {key: filled(inner, known) for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    return known[value[1:-1]] if value[1:-1] in known else value.format(**known)


def unguarded_map(api: Client) -> int:
    """Map a sentence that no test case guards, of a prompt with a session about it; returns the map's id."""
    prompt = {"name": "Parcels", "value": "Find each parcel.", "languageModelName": "echo"}
    prompt_id = api.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
    path = f"/api/v1/prompts/{prompt_id}"
    record_session(api, prompt_id, RecordedTurn("Where is my parcel?", "In Rome."), start_ns=time.time_ns())
    api.post(f"{path}/test-cases", {"question": "Ping", "expectedAnswer": "Ping"})
    mapped = f"/api/v1/guard-maps/{api.post(f'{path}/guard-maps').json()['id']}"
    wait_until(lambda: api.get(mapped).json()["status"] == "finished", "the map")
    offered = f"{mapped}/sessions"
    wait_until(lambda: any(one["sessions"] for one in api.get(offered).json()["sentences"]), "the fingerprint")
    return int(mapped.rpartition("/")[2])


@pytest.fixture
def known(backend: EmbeddedServer) -> dict[str, Any]:
    """A project with one of all that the tools read: a prompt, a session with a score, a replay, and a gate."""
    api = backend.client()
    made = shop_variables(api)
    prompt_id, case_id = int(made["PROMPT_ID"]), int(made["TEST_CASE_ID"])
    path = f"/api/v1/prompts/{prompt_id}"
    assert (
        api.patch(path, {"name": "Concierge", "value": "Help {{whom}}.\n", "placeholders": [PLACEHOLDER]}).status == 200
    )
    digits = api.post(f"{path}/commit").json()["commitHash"][:12]
    case = api.patch(f"/api/v1/test-cases/{case_id}", {"variants": [{"name": "slow", "faults": FAULTS}]})
    assert case.status == 200, case.body
    session_id = api.get(f"{path}/logs?type=otel").json()["entries"][0]["id"]
    score = api.post("/api/v1/scores", {"target": {"sessionId": session_id}, "name": "helpful", "value": 0.25})
    assert score.status == 201, score.body
    replay_id = api.post(f"/api/v1/test-cases/{case_id}/replays").json()["id"]
    gate = api.post(f"{path}/experiments", {"candidate": "draft", "baseline": None, "detect": 0.5})
    ended = f"/api/v1/experiments/{gate.json()['id']}"
    wait_until(lambda: api.get(ended).json()["status"] == "finished", "the gate")
    wait_until(lambda: api.get(f"/api/v1/replays/{replay_id}").json()["finishedAt"], "the replay")
    for name in range(21):
        api.post("/api/v1/prompts", SHOP | {"name": f"Shop {name}"})
    watched = api.post("/api/v1/prompts", SHOP | {"name": "Watched"}).json()["prompt"]["id"]
    watch = api.post(f"/api/v1/prompts/{watched}/schedules", {"cron": "0 3 * * *", "kind": "watch"}).json()
    wrong, finding_id = seed_findings(api, "Broken", count=1)
    broken = api.get(f"/api/v1/prompts/{wrong}").json()["commitHash"]
    cursor = api.get("/api/v1/prompts?limit=20").json()["nextCursor"]
    return {
        "prompt_id": prompt_id,
        "digits": digits,
        "wrong": wrong,
        "finding_id": finding_id,
        "broken": broken,
        "session_id": session_id,
        "case_id": case_id,
        "replay_id": replay_id,
        "experiment_id": gate.json()["id"],
        "map_id": api.post(f"{path}/guard-maps", {"maxReplays": 2}).json()["id"],
        "unguarded_id": unguarded_map(api),
        "cursor": cursor,
        "schedule_id": watch["id"],
    }


def test_every_tool_is_called_with_every_argument_that_it_documents(ask: Ask, known: dict[str, Any]) -> None:
    tools, *answers = ask(
        ["tools", "", {}], *(["tool", name, filled(arguments, known)] for name, arguments, _ in CALLS)
    )

    documented = {name: set(schema["properties"]) for name, (_, _, schema) in json.loads(tools["text"]).items()}
    called: dict[str, set[str]] = {}
    for name, arguments, _ in CALLS:
        called.setdefault(name, set()).update(arguments)
    assert called == documented
    wrong = [
        (name, arguments, answer)
        for (name, arguments, part), answer in zip(CALLS, answers, strict=True)
        if filled(part, known) not in answer["text"]
        or answer["error"] != any((name, key) in REFUSED for key in arguments)
    ]
    assert wrong == []


def test_without_a_key_the_command_asks_for_one_and_prints_nothing(python: Path) -> None:
    done = subprocess.run(
        [python, "-m", "reprise_client", "mcp"],
        env={"PYTHONPATH": str(ROOT / "clients/python/src"), "REPRISE_URL": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "Set REPRISE_API_KEY" in done.stderr
