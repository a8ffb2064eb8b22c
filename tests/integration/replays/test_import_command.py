"""`reprise import` and `reprise export` as programs that speak to a running server."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

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
