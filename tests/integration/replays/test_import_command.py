"""`reprise import` and `reprise export` as programs that speak to a running server."""

from __future__ import annotations

import gzip
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import reprise
from tests.support.http_client import Client
from tests.support.imports import DATA

OPENAI = DATA / "openai-chat.jsonl"
GOOD, *_ = OPENAI.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture
def prompt_id(client: Client) -> str:
    body = {"name": "Shop", "value": "Help.", "languageModelName": "demo-agent"}
    return str(client.post("/api/v1/prompts", body).json()["prompt"]["id"])


def test_a_file_is_imported_and_summed_up_in_a_line(client: Client, prompt_id: str, tmp_path: Path) -> None:
    done = reprise(client, tmp_path, "import", "openai-chat", str(OPENAI), "--prompt", prompt_id)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Imported 3 sessions, 7 spans.\n"
    exported = reprise(client, tmp_path, "export", "sessions", "--prompt", prompt_id)
    assert len(exported.stdout.splitlines()) == 3


def test_an_export_prints_what_the_api_answers(client: Client, prompt_id: str, tmp_path: Path) -> None:
    reprise(client, tmp_path, "import", "openai-chat", str(OPENAI), "--prompt", prompt_id)

    done = reprise(client, tmp_path, "export", "sessions", "--prompt", prompt_id, "--since", "2020-01-01")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.encode() == client.get(f"/api/v1/prompts/{prompt_id}/exports/sessions").body
    empty = reprise(client, tmp_path, "export", "sessions", "--prompt", prompt_id, "--until", "2020-01-01")
    assert (empty.returncode, empty.stdout) == (0, "")


def test_several_files_are_one_import_and_may_be_compressed(client: Client, prompt_id: str, tmp_path: Path) -> None:
    packed = tmp_path / "runs.jsonl.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))

    done = reprise(client, tmp_path, "import", "openai-chat", str(packed), str(OPENAI), "--prompt", prompt_id)

    assert done.stdout == "Imported 3 sessions, 11 spans.\n"


def test_a_bad_line_is_named_and_the_others_are_imported(client: Client, prompt_id: str, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text('{"messages": 7}\n\nnonsense\n' + GOOD)

    done = reprise(client, tmp_path, "import", "openai-chat", str(file), "--prompt", prompt_id)

    assert done.returncode == 1
    assert done.stderr == ("line 1: has no list of messages\nline 3: is no JSON: Expecting value (character 1)\n")
    assert done.stdout == "Imported 1 session, 4 spans, 2 records not readable.\n"


def test_strict_stops_at_the_first_bad_line(client: Client, prompt_id: str, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("nonsense\n" + GOOD)

    done = reprise(client, tmp_path, "import", "openai-chat", str(file), "--prompt", prompt_id, "--strict")

    assert (done.returncode, done.stdout) == (1, "Imported 0 sessions, 0 spans, 1 record not readable.\n")


def test_a_span_that_the_server_rejects_is_counted_with_the_servers_words(
    client: Client, prompt_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "chats.jsonl"
    large = {"messages": [{"role": "user", "content": "x" * 9_000_000}, {"role": "assistant", "content": "No."}]}
    file.write_text(GOOD + json.dumps(large) + "\n")

    done = reprise(client, tmp_path, "import", "openai-chat", str(file), "--prompt", prompt_id)

    assert (done.returncode, done.stdout) == (1, "Imported 1 session, 4 spans, 1 span rejected.\n")
    assert "the span is larger than 8388608 bytes" in done.stderr


@pytest.mark.parametrize(("prompt", "key", "message"), [("9999999", None, "404"), ("", "rp_wrong", "401")])
def test_a_refusal_ends_the_import_with_the_servers_words(
    client: Client, prompt_id: str, tmp_path: Path, prompt: str, key: str | None, message: str
) -> None:
    done = reprise(client, tmp_path, "import", "openai-chat", str(OPENAI), "--prompt", prompt or prompt_id, key=key)

    assert done.returncode == 2
    assert f"answered {message}: " in done.stderr
    assert done.stdout == "Imported 0 sessions, 0 spans.\n"


def test_an_import_that_died_is_completed_by_the_same_command(client: Client, prompt_id: str, tmp_path: Path) -> None:
    part = tmp_path / "part.jsonl"
    part.write_text(GOOD)
    whole = ("import", "openai-chat", str(OPENAI), "--prompt", prompt_id)
    reprise(client, tmp_path, "import", "openai-chat", str(part), "--prompt", prompt_id)

    assert reprise(client, tmp_path, *whole).returncode == 0

    entries = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    assert sorted(entry["turns"] for entry in entries) == [1, 1, 2]


def cases_of(client: Client, prompt_id: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get(f"/api/v1/prompts/{prompt_id}/test-cases").json()["testCases"]
    return listed[::-1]


@pytest.mark.parametrize(
    ("tool", "file", "failed"),
    [("langsmith-dataset", "langsmith.examples.jsonl", 1), ("braintrust-dataset", "braintrust.dataset.json", 0)],
)
def test_rows_of_a_dataset_become_test_cases_once(
    client: Client, prompt_id: str, tmp_path: Path, tool: str, file: str, failed: int
) -> None:
    for _ in range(2):
        done = reprise(client, tmp_path, "import", tool, str(DATA / file), "--prompt", prompt_id)
        assert done.returncode == failed, done.stderr
        assert done.stdout.startswith("Imported 3 test cases")
    assert ("line 4: has no expected answer" in done.stderr) is bool(failed)

    turns = [case["turns"][0] for case in cases_of(client, prompt_id)]
    assert [turn["user"] for turn in turns] == ["Where is my order A-1?", "Refund A-2", "Which city?"]
    assert [message["text"] for message in turns[1]["earlier"]] == ["Hi", "Hello!"]
    steps = [turn["steps"][0] for turn in turns]
    assert [step["text"] for step in steps[:2]] == ["It is on its way.", "A-2 is refunded."]
    assert [step["check"]["answer"] for step in steps] == ["meaning", "meaning", "json_subset"]
    assert steps[2]["check"]["value"] == {"city": "Oslo", "celsius": 4}


def test_tests_of_promptfoo_become_test_cases_with_values_of_placeholders(client: Client, tmp_path: Path) -> None:
    values = [{"name": "kind", "content": "friendly", "isDefault": True}, {"name": "stiff", "content": "formal"}]
    body = {"name": "Shop", "value": "Be {{tone}}.", "languageModelName": "demo-agent"}
    body |= {"placeholders": [{"key": "tone", "values": values}]}  # type: ignore[dict-item]
    prompt_id = str(client.post("/api/v1/prompts", body).json()["prompt"]["id"])

    config = str(DATA / "promptfooconfig.yaml")
    done = reprise(client, tmp_path, "import", "promptfoo", config, "--prompt", prompt_id)

    assert (done.returncode, done.stdout) == (1, "Imported 3 test cases, 2 records not imported.\n")
    for reported in (
        "test 2: assertion latency is left out",
        "test 3: the prompt has no placeholder plan",
        "test 4: has no assertion that a test case can check",
        "test 5: is in 'file://more.yaml': import that file",
    ):
        assert reported in done.stderr
    first, second, third = cases_of(client, prompt_id)
    assert first["name"].startswith("An order on its way (")
    assert [case["turns"][0]["placeholders"] for case in (first, second)] == [{"tone": "stiff"}, {"tone": "kind"}]
    checks = [case["turns"][0]["steps"][0]["check"] for case in (first, second, third)]
    assert [check["answer"] for check in checks] == ["contains", "ai", "strict"]
    assert checks[0]["value"] == "on its way"
    assert second["assertionValue"] == "Confirms the refund of A-2\nThe answer does not contain: sorry"


def test_tests_of_promptfoo_in_csv_become_test_cases(client: Client, tmp_path: Path) -> None:
    body = {"name": "Shop", "value": "Be kind.", "languageModelName": "demo-agent"}
    prompt_id = str(client.post("/api/v1/prompts", body).json()["prompt"]["id"])
    file = tmp_path / "tests.CSV"
    file.write_bytes("\ufeffquestion;__expected\r\nWo ist A-1? 🚚;contains: unterwegs\r\nUnd?;python: f()\r\n".encode())

    done = reprise(client, tmp_path, "import", "promptfoo", str(file), "--prompt", prompt_id)

    assert (done.returncode, done.stdout) == (1, "Imported 1 test case, 1 record not imported.\n")
    assert "tests.CSV: line 3: has no assertion that a test case can check" in done.stderr
    (case,) = cases_of(client, prompt_id)
    assert case["turns"][0]["user"] == "Wo ist A-1? 🚚"
    assert case["turns"][0]["steps"][0]["check"]["value"] == "unterwegs"


def test_prompts_of_langfuse_come_with_versions_and_labels_once(client: Client, tmp_path: Path) -> None:
    # Prompts of one name are imported once, and other tests of this server import the same file.
    names = {name: f"{name} {secrets.token_hex(4)}" for name in ("movie-critic", "support")}
    exported = (DATA / "langfuse.prompts.json").read_text(encoding="utf-8")
    for name, unused in names.items():
        exported = exported.replace(json.dumps(name), json.dumps(unused))
    file = str(tmp_path / "prompts.json")
    Path(file).write_text(exported, encoding="utf-8")

    done = reprise(client, tmp_path, "import", "langfuse-prompts", file)

    assert (done.returncode, done.stdout) == (0, "Imported 2 prompts, 3 versions, 2 labels.\n"), done.stderr
    assert f"{names['support']}, version 1: a message of user is left out" in done.stderr
    assert f"{names['movie-critic']}, version 1: without model and parameters" in done.stderr
    prompts = {prompt["name"]: prompt["id"] for prompt in client.get("/api/v1/prompts?limit=100").json()["prompts"]}
    path = f"/api/v1/prompts/{prompts[names['movie-critic']]}"
    versions = client.get(f"{path}/versions").json()["versions"]
    assert [(version["message"], version["labels"]) for version in versions] == [
        ("Be brief", ["production"]),
        ("Version 1 of Langfuse", ["staging"]),
    ]
    newest = client.get(path).json()
    assert newest["value"] == "As a {{criticLevel}} movie critic, do you like {{movie}}? Be brief."
    assert (newest["languageModel"]["name"], newest["languageModelConfig"]["temperature"]) == ("demo-agent", 0.5)
    assert [definition["key"] for definition in newest["placeholderDefinitions"]] == ["criticLevel", "movie"]
    again = reprise(client, tmp_path, "import", "langfuse-prompts", file)
    assert (again.returncode, again.stdout) == (0, "Imported 0 prompts, 0 versions, 0 labels.\n"), again.stderr


@pytest.fixture
def langfuse_file(tmp_path: Path) -> Callable[[int], str]:
    """Write an export of a prompt's first versions, in which the third has the text of the second."""
    name = f"resumed {secrets.token_hex(4)}"
    texts = ["One.", "Two {{x}}.", "Two {{x}}.", "Four."]

    def write(count: int) -> str:
        versions = [
            {"name": name, "version": number, "prompt": text, "labels": [f"v{number}"], "config": {}}
            for number, text in enumerate(texts[:count], 1)
        ]
        file = tmp_path / f"{count}.json"
        file.write_text(json.dumps(versions), encoding="utf-8")
        return str(file)

    return write


def newest_first(client: Client) -> tuple[str, list[tuple[str, list[str]]]]:
    prompt = client.get("/api/v1/prompts?limit=1").json()["prompts"][0]
    path = f"/api/v1/prompts/{prompt['id']}"
    versions = client.get(f"{path}/versions").json()["versions"]
    return path, [(version["message"], sorted(version["labels"])) for version in versions]


def test_a_later_export_adds_its_versions_and_labels(
    client: Client, tmp_path: Path, langfuse_file: Callable[[int], str]
) -> None:
    printed = [reprise(client, tmp_path, "import", "langfuse-prompts", langfuse_file(count)) for count in (1, 3, 4, 4)]

    assert [done.stdout.removeprefix("Imported ") for done in printed] == [
        "1 prompt, 1 version, 1 label.\n",
        "0 prompts, 1 version, 2 labels.\n",
        "0 prompts, 1 version, 1 label.\n",
        "0 prompts, 0 versions, 0 labels.\n",
    ]
    assert newest_first(client)[1] == [
        ("Version 4 of Langfuse", ["v4"]),
        ("Version 2 of Langfuse", ["v2", "v3"]),
        ("Version 1 of Langfuse", ["v1"]),
    ]


def test_an_import_that_was_interrupted_before_a_commit_goes_on(
    client: Client, tmp_path: Path, langfuse_file: Callable[[int], str]
) -> None:
    reprise(client, tmp_path, "import", "langfuse-prompts", langfuse_file(1))
    path, _ = newest_first(client)
    client.patch(path, {"value": "Two {{x}}."})

    done = reprise(client, tmp_path, "import", "langfuse-prompts", langfuse_file(2))

    assert done.stdout == "Imported 0 prompts, 1 version, 1 label.\n", done.stderr


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_prompt_that_a_person_changed_is_refused(
    client: Client, tmp_path: Path, langfuse_file: Callable[[int], str], is_committed: bool
) -> None:
    reprise(client, tmp_path, "import", "langfuse-prompts", langfuse_file(1))
    path, _ = newest_first(client)
    client.patch(path, {"value": "Mine."})
    if is_committed:
        client.post(f"{path}/commit", {"message": "mine"})
    before = newest_first(client)

    done = reprise(client, tmp_path, "import", "langfuse-prompts", langfuse_file(4))

    assert (done.returncode, done.stdout) == (1, "Imported 0 prompts, 0 versions, 0 labels, 1 not imported.\n")
    assert "has this name already" in done.stderr
    assert newest_first(client) == before
