"""The commands of the pages on traces, search and insight are executed here, and print what the pages show."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import access, read_document, run_blocks, shell_blocks
from tests.support.exports import export, span
from tests.support.http_client import Client
from tests.support.waiting import wait_until

OLD, NEW = "version-old", "version-new"
SESSIONS = 30


def turn(prompt_id: int, version: str, said: str, *, failed: bool = False, **attributes: str) -> dict[str, Any]:
    """A turn of now with this text of the user."""
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": said}]}])
    named = {"service.prompt.id": prompt_id, "service.prompt.version": version, "gen_ai.operation.name": "chat"}
    start = time.time_ns()
    return span(
        named | {"gen_ai.input.messages": messages} | attributes,
        traceId=secrets.token_hex(16),
        startTimeUnixNano=str(start),
        endTimeUnixNano=str(start + 10**9),
        status={"code": 2 if failed else 0},
    )


def found(client: Client, path: str) -> Any:
    answer = client.get(path)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.fixture
def variables(client: Client) -> Iterator[dict[str, str]]:
    """A prompt with sessions of two versions, the old one with errors, which the clock has read and counted."""
    new = {"name": "Shop", "value": "Help.", "languageModelName": "echo"}
    prompt_id = client.post("/api/v1/prompts", new).json()["prompt"]["id"]
    talk = turn(prompt_id, NEW, "My refund 4711 is not possible", **{"gen_ai.conversation.id": "conversation-1"})
    turns = [turn(prompt_id, OLD, f"old {n}", failed=n < SESSIONS // 2) for n in range(SESSIONS)]
    turns += [turn(prompt_id, NEW, f"new {n}") for n in range(SESSIONS)]
    json_form = {"Content-Type": "application/json"}
    sent = client.post("/api/public/otel/v1/traces", body=export(talk, *turns), headers=json_form)
    assert sent.status == 200
    path = f"/api/v1/prompts/{prompt_id}"
    wait_until(
        lambda: len(found(client, f"/api/v1/sessions?q=4711&promptId={prompt_id}")["sessions"]) == 1, "the index"
    )
    counted = 2 * SESSIONS + 1
    wait_until(
        lambda: sum(one["sessions"]["sessions"] for one in found(client, f"{path}/insight")["groups"]) == counted,
        "the counts",
    )
    names = {"PROMPT_ID": str(prompt_id), "OLD": OLD, "NEW": NEW}
    yield access(client) | {"REPRISE_URL": client.base_url, "REPRISE_API_KEY": client.api_key} | names
    for saved in found(client, "/api/v1/session-filters")["sessionFilters"]:
        client.delete(f"/api/v1/session-filters/{saved['id']}")


def test_the_page_on_traces_scores_filters_and_checks(
    client: Client, variables: dict[str, str], tmp_path: Path
) -> None:
    score, saved, check = (
        json.loads(run_blocks([block], tmp_path, variables))
        for block in shell_blocks(read_document("reference/traces.md"))
    )

    assert (score["id"], score["value"], score["label"]) == ("thumb-4711", 1, "true")
    assert saved["filters"] == {"errors": True, "since": "1d", "sort": "duration"}
    assert (check["name"], check["share"]) == ("apologises", 0.5)
    wrong = found(client, f"/api/v1/sessions?errors=true&since=1d&sort=duration&promptId={variables['PROMPT_ID']}")
    assert len(wrong["sessions"]) == SESSIONS // 2


def test_the_page_on_search_finds_sessions_and_entries_of_a_log(variables: dict[str, str], tmp_path: Path) -> None:
    sessions, log = (
        json.loads(run_blocks([block], tmp_path, variables)) for block in shell_blocks(read_document("search.md"))
    )

    mine = [one for one in sessions["sessions"] if str(one["promptId"]) == variables["PROMPT_ID"]]
    assert [one["preview"] for one in mine] == ["My refund 4711 is not possible"]
    assert [one["hit"]["kind"] for one in log["entries"]] == ["user"]


def test_the_page_on_insight_answers_if_it_got_better(variables: dict[str, str], tmp_path: Path) -> None:
    by_version, compared, commands = shell_blocks(read_document("insight.md"))
    groups = json.loads(run_blocks([by_version], tmp_path, variables))["groups"]
    summary = json.loads(run_blocks([compared], tmp_path, variables))["summary"]
    each, pair, days, wrong = commands.splitlines()

    assert {one["version"] for one in groups} == {OLD, NEW}
    assert summary.startswith("It got better: fewer sessions with errors.")
    rows = [line.split("\t") for line in run_blocks([each], tmp_path, variables).splitlines()]
    assert {(row[0], row[1]) for row in rows} == {(OLD, str(SESSIONS)), (NEW, str(SESSIONS + 1))}
    said, *findings = run_blocks([pair], tmp_path, variables).splitlines()
    assert said == summary
    assert findings[0].split("\t") == ["Sessions with errors", "50 % (33 % to 67 %)", "0 % (0 % to 11 %)", "better"]
    assert json.loads(run_blocks([days], tmp_path, variables))["groupBy"] == "day"
    assert len(run_blocks([wrong], tmp_path, variables).splitlines()) == SESSIONS // 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--before version --after version-new", "2 versions with figures begin with 'version'"),
        ("--before nowhere", "no version with figures begin with 'nowhere'"),
        ("--from yesterday", "from: Not a valid"),
        ("--by colour", "Invalid value for '--by'"),
    ],
)
def test_the_command_names_the_problem(variables: dict[str, str], tmp_path: Path, options: str, problem: str) -> None:
    command = f'reprise insight --prompt "$PROMPT_ID" {options} 2>&1 || echo "exit code $?"'
    said = run_blocks([command], tmp_path, variables)

    assert problem in said
    assert said.endswith("exit code 2\n")
