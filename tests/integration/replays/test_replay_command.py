"""`reprise replay` and `reprise test-cases` against a real server: what CI sees of a draft that breaks a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.integration.replays.recording import START_NS, tool
from tests.support.command_line import reprise
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.exports import export as export_spans
from tests.support.exports import span
from tests.support.http_client import Client

# What `demo-agent` answers and calls, so that it passes.
ASKED = RecordedTurn("A-1", "It is on its way.", (RecordedCall("find", {"order": "A-1"}, "It is on its way."),))


@pytest.fixture
def prompt_id(client: Client) -> int:
    return prompt_with_a_tool(client)


def prompt_with_a_tool(client: Client) -> int:
    """A prompt that finds orders, never committed; its id."""
    body = {
        "name": "Support",
        "value": "Help.",
        "languageModelName": "demo-agent",
        "languageModelConfig": {"tools": [tool("find", "order")]},
    }
    created: int = client.post("/api/v1/prompts", body).json()["prompt"]["id"]
    return created


def recorded_case(client: Client, prompt_id: int, **body: Any) -> dict[str, Any]:
    """Make a test case from an agent's spans, only over the API."""
    batch = export(prompt_id, "c", [ASKED], start_ns=START_NS)
    headers = {"Content-Type": "application/json"}
    assert client.post("/api/public/otel/v1/traces", body=batch, headers=headers).status == 200
    (entry,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    case: dict[str, Any] = client.post(f"/api/v1/sessions/{entry['id']}/test-cases", body).json()
    return case


def test_the_newest_session_becomes_a_test_case(client: Client, prompt_id: int, tmp_path: Path) -> None:
    empty = reprise(client, tmp_path, "test-cases", "add", "--prompt", str(prompt_id))
    assert (empty.returncode, empty.stderr) == (2, f"Error: Prompt {prompt_id} has no session.\n")
    known = recorded_case(client, prompt_id, name="Where is it?")

    added = reprise(client, tmp_path, "test-cases", "add", "--prompt", str(prompt_id), "--name", "Again")

    test_case_id, name = added.stdout.rstrip("\n").split("\t")
    case = client.get(f"/api/v1/test-cases/{test_case_id}").json()
    assert (name, case["name"], case["sessionId"]) == ("Again", "Again", known["sessionId"])


def test_a_draft_that_holds_ends_with_0_and_one_that_breaks_a_step_with_1(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    case = recorded_case(client, prompt_id, name="Where is it?")
    junit, results = tmp_path / "out.xml", tmp_path / "out.json"
    files = ("--junit", str(junit), "--json", str(results))

    good = reprise(client, tmp_path, "replay", "--prompt", str(prompt_id), *files)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("PASSED       Where is it? · 2 passed")
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "0"

    changed = {"languageModelConfig": {"tools": [tool("find", "number")]}}
    assert client.patch(f"/api/v1/prompts/{prompt_id}", changed).status == 200
    broken = reprise(client, tmp_path, "replay", "--prompt", str(prompt_id), *files)

    assert broken.returncode == 1
    assert "find was called with other arguments" in broken.stdout
    assert 'at /order:\n      - "A-1"\n      + (absent)' in broken.stdout
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "1"
    report = json.loads(results.read_text())
    assert (report["exitCode"], report["replays"][0]["testCaseId"]) == (1, case["id"])
    replay = report["replays"][0]["replay"]
    assert replay["counts"]["failed"] == 1
    page = f"/replays/{replay['id']}"
    assert (replay["url"].startswith("http://"), replay["url"].endswith(page)) == (True, True)
    assert f"  {replay['url']}\n" in broken.stdout
    assert replay["url"] in junit.read_text().replace("&#58;&#58;", "::")


def test_what_needs_review_is_no_success(client: Client, prompt_id: int, tmp_path: Path) -> None:
    check = {"turn": 0, "step": 1, "check": {"answer": "manual"}}
    recorded_case(client, prompt_id, steps=[check])

    done = reprise(client, tmp_path, "replay", "--prompt", str(prompt_id))

    assert (done.returncode, "NEEDS REVIEW" in done.stdout) == (1, True)


def test_test_cases_are_chosen_by_id_or_name(client: Client, prompt_id: int, tmp_path: Path) -> None:
    one = recorded_case(client, prompt_id, name="One")
    for name in ("Two", "Three"):
        client.post(f"/api/v1/test-cases/{one['id']}/copy", {"name": name})

    done = reprise(
        client, tmp_path, "replay", "--prompt", str(prompt_id), "--test-case", str(one["id"]), "--test-case", "Three"
    )

    assert done.returncode == 0
    assert sorted(line.split(" · ")[0].split()[-1] for line in done.stdout.splitlines()) == ["One", "Three"]


@pytest.mark.parametrize(
    ("arguments", "key", "words"),
    [
        (("--prompt", "999999"), None, "404"),
        ((), None, "--prompt"),
        (("--test-case", "Nameless"), None, "has no test case 'Nameless'"),
        ((), "rp_wrong", "401"),
        ((), "", "REPRISE_API_KEY"),
        (("--url", "reprise:8000"), None, "does not begin with http"),
    ],
)
def test_what_can_not_run_ends_with_2_and_a_reason(
    client: Client, prompt_id: int, tmp_path: Path, arguments: tuple[str, ...], key: str | None, words: str
) -> None:
    own = () if "--prompt" in arguments or words == "--prompt" else ("--prompt", str(prompt_id))

    done = reprise(client, tmp_path, "replay", *own, *arguments, key=key)

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_prompt_without_test_cases_is_no_success(client: Client, prompt_id: int, tmp_path: Path) -> None:
    done = reprise(client, tmp_path, "replay", "--prompt", str(prompt_id))

    assert (done.returncode, "has no test cases" in done.stderr) == (2, True)


def test_test_cases_go_to_files_and_back(client: Client, prompt_id: int, tmp_path: Path) -> None:
    recorded_case(client, prompt_id, name="Where is my Bestellung?")
    folder = tmp_path / "cases"
    arguments = (str(folder), "--prompt", str(prompt_id))

    assert reprise(client, tmp_path, "test-cases", "export", *arguments).returncode == 0
    (file,) = folder.iterdir()
    first = file.read_bytes()
    assert file.name == "where-is-my-bestellung.json"
    file.write_text(file.read_text().replace('"onMissing": "stop"', '"onMissing": "error"'))
    assert reprise(client, tmp_path, "test-cases", "import", *arguments).returncode == 0
    assert reprise(client, tmp_path, "test-cases", "export", *arguments).returncode == 0

    assert file.read_bytes() == first.replace(b'"onMissing": "stop"', b'"onMissing": "error"')
    listed = client.get(f"/api/v1/prompts/{prompt_id}/test-cases").json()["testCases"]
    assert [case["onMissing"] for case in listed] == ["error"]


def test_two_test_cases_that_would_be_one_file_are_refused(client: Client, prompt_id: int, tmp_path: Path) -> None:
    one = recorded_case(client, prompt_id, name="Twice")
    client.post(f"/api/v1/test-cases/{one['id']}/copy", {"name": "twice!"})

    done = reprise(client, tmp_path, "test-cases", "export", str(tmp_path / "cases"), "--prompt", str(prompt_id))

    assert (done.returncode, "twice.json" in done.stderr) == (2, True)


def test_a_calibration_proposes_what_varies_and_accepts_it_on_request(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    rules = {"find": {"arguments": {"/order": {"match": "one_of", "values": ["B-2"]}}}}
    case = recorded_case(client, prompt_id, name="Where is it?", tools=rules)
    command = ("calibrate", "--prompt", str(prompt_id), "--repeats", "2")

    first = reprise(client, tmp_path, *command)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith(
        "PROPOSALS    Where is it? · 2 replays\n    turn 1, step 1: passed 0 of 2, proposed: "
    )
    assert "accepted 1" in reprise(client, tmp_path, *command, "--accept").stdout

    assert reprise(client, tmp_path, *command).stdout.startswith("USABLE")
    check = client.get(f"/api/v1/test-cases/{case['id']}").json()["turns"][0]["steps"][0]["check"]
    assert check["arguments"] == {"/order": "text"}


def test_a_session_that_went_wrong_is_warned_of_unless_a_file_corrects_it(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    session_id = recorded_case(client, prompt_id)["sessionId"]
    target = {"sessionId": session_id}
    client.post("/api/v1/scores", {"scores": [{"name": "helpful", "value": 0.1, "target": target}]})
    file = tmp_path / "corrections.json"
    file.write_text(json.dumps([{"turn": 0, "step": 1, "text": "It is lost."}]))
    arguments = ("test-cases", "add", "--prompt", str(prompt_id), "--session", session_id)

    warned = reprise(client, tmp_path, *arguments)
    corrected = reprise(client, tmp_path, *arguments, "--corrections", str(file))

    assert (warned.returncode, warned.stderr.splitlines()[0]) == (0, "The score helpful is 0.1")
    assert "--corrections" in warned.stderr
    assert (corrected.returncode, corrected.stderr) == (0, "")
    case = client.get(f"/api/v1/test-cases/{corrected.stdout.split()[0]}").json()
    assert (case["basis"], case["turns"][0]["steps"][1]["text"]) == ("corrected", "It is lost.")


def test_a_file_of_corrections_that_is_no_json_is_refused(client: Client, prompt_id: int, tmp_path: Path) -> None:
    session_id = recorded_case(client, prompt_id)["sessionId"]
    (tmp_path / "corrections.json").write_text("{")
    arguments = ("--session", session_id, "--corrections", str(tmp_path / "corrections.json"))

    refused = reprise(client, tmp_path, "test-cases", "add", "--prompt", str(prompt_id), *arguments)

    assert (refused.returncode, refused.stdout, "corrections.json" in refused.stderr) == (2, "", True)


def test_a_session_that_another_one_contains_is_passed_over(client: Client, prompt_id: int, tmp_path: Path) -> None:
    said = [("user", "Where is 4711?"), ("assistant", "It is lost."), ("user", "Why?")]
    whole = recorded_call(client, prompt_id, 1, *said, answer="Theft.")
    piece = recorded_call(client, prompt_id, 2, said[0], answer="It is lost.")
    arguments = ("test-cases", "add", "--prompt", str(prompt_id))

    newest = reprise(client, tmp_path, *arguments)
    named = reprise(client, tmp_path, *arguments, "--session", piece)

    made = [client.get(f"/api/v1/test-cases/{added.stdout.split()[0]}").json() for added in (newest, named)]
    assert [case["sessionId"] for case in made] == [whole, piece]
    first, *rest = newest.stderr.splitlines()
    assert first == f"The session is a piece of the later session {whole}, which contains it."
    assert "passed over" in rest[0]
    assert named.stderr.splitlines() == [first]


def recorded_call(client: Client, prompt_id: int, number: int, *said: tuple[str, str], answer: str) -> str:
    """Send a model call as its own session, all at the same time; returns the id of the session."""
    given = [{"role": role, "content": text} for role, text in said]
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": answer}]),
    }
    times = {"startTimeUnixNano": START_NS, "endTimeUnixNano": START_NS + 1}
    batch = export_spans(span(attributes, traceId=f"{number:032x}", **times))
    headers = {"Content-Type": "application/json"}
    assert client.post("/api/public/otel/v1/traces", body=batch, headers=headers).status == 200
    return str(client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"][0]["id"])
