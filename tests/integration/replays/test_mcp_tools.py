"""The tools of `reprise mcp` against a running server, without the protocol around them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import connect
from reprise_client.mcp_texts import PAGE_CHARACTERS
from reprise_client.mcp_tools import Tools

from tests.support.documents import SHOP, SHOP_TURN, record_session
from tests.support.http_client import Client
from tests.support.waiting import wait_until

PROMPT = {
    **SHOP,
    "value": "Help {{whom}}.",
    "placeholders": [{"key": "whom", "values": [{"name": "all", "content": "everybody", "isDefault": True}]}],
    "commit": True,
}


@pytest.fixture
def tools(client: Client) -> Iterator[Tools]:
    instance = connect(client.base_url, client.api_key, tries=1)
    yield Tools(instance)
    instance.close()


@pytest.fixture
def prompt_id(client: Client) -> int:
    created: int = client.post("/api/v1/prompts", PROMPT).json()["prompt"]["id"]
    return created


@pytest.fixture
def session_id(client: Client, prompt_id: int) -> str:
    return record_session(client, prompt_id, SHOP_TURN)


@pytest.fixture
def test_case_id(client: Client, session_id: str) -> int:
    made: int = client.post(f"/api/v1/sessions/{session_id}/test-cases", {"name": "Where?"}).json()["id"]
    return made


def test_a_prompt_is_found_read_and_rendered(tools: Tools, client: Client, prompt_id: int) -> None:
    client.patch(f"/api/v1/prompts/{prompt_id}", {"value": "Be kind to {{whom}}."})

    assert f"{prompt_id}: Shop" in tools.list_prompts("Sho")
    assert tools.read_prompt(prompt_id).endswith("Text:\nBe kind to {{whom}}.")
    assert tools.read_prompt(prompt_id, "latest").endswith("Text:\nHelp {{whom}}.")
    commit = tools.list_versions(prompt_id)[:8]
    assert "Help everybody." in tools.render_prompt(prompt_id, version=commit)
    assert "Be kind to everybody." in tools.render_prompt(prompt_id, {"whom": "all"})


def test_a_conversation_is_read_with_its_calls(tools: Tools, prompt_id: int, session_id: str) -> None:
    assert tools.list_sessions(prompt_id).startswith(f"{session_id}: ")
    assert tools.list_sessions(prompt_id, errors=False, failed_tool="no_tool") == "There are none."

    assert tools.read_session(session_id).splitlines()[2:] == [
        "# Turn 1, 2025-10-09T08:53:20.000Z",
        "User: A-1",
        'Call: find {"order": "A-1"} -> "It is on its way."',
        "Answer: It is on its way.",
    ]


def test_a_gate_returns_its_verdict_and_its_failing_replays(tools: Tools, prompt_id: int, test_case_id: int) -> None:
    assert tools.list_failures(prompt_id) == "Nothing failed."
    assert "**Passed.**" in tools.run_gate(prompt_id, "Help nobody.")

    # Without its tool the model does something else than was recorded.
    tools.instance.change_draft(prompt_id, {"languageModelConfig": {}}, if_match=tools.instance.draft(prompt_id)[1])
    failed = tools.run_gate(prompt_id, baseline="none")
    assert "### What went wrong" in failed

    assert "**Failed.**" in failed
    replay_id = int(failed.partition("for read_replay: ")[2].split("\n")[0].split(",")[0])
    assert f"replay {replay_id}: " in tools.list_failures(prompt_id)
    assert "FAILED tool_call" in tools.read_replay(replay_id)


@pytest.mark.parametrize("baseline", ["latest", "none", "HASH", ""])
@pytest.mark.parametrize("version", ["draft", "latest", "HASH"])
@pytest.mark.parametrize("text", ["", "Help nobody."])
def test_a_gate_runs_with_every_candidate_and_baseline(
    tools: Tools, prompt_id: int, test_case_id: int, text: str, version: str, baseline: str
) -> None:
    digits = tools.list_versions(prompt_id)[:8]
    options = {"baseline": baseline.replace("HASH", digits)} if baseline else {}
    report = tools.run_gate(
        prompt_id, text, version.replace("HASH", digits), detect=0.5, max_cost=1.0, wait_s=0, **options
    )
    experiment = tools.instance.get(f"/api/v1/experiments/{report.split()[1]}")

    is_text, is_draft = bool(text), version == "draft"
    assert experiment["candidate"]["kind"] == ("overlay" if is_text else "draft" if is_draft else "version")
    assert (experiment["baseline"] is None) == (baseline == "none")
    assert (experiment["detect"], experiment["maxCost"]) == (0.5, 1.0)


@pytest.mark.parametrize("version", ["nothing", ""])
def test_a_version_that_is_not_there_is_an_error(tools: Tools, prompt_id: int, version: str) -> None:
    with pytest.raises(CouldNotRun, match="no version"):
        tools.run_gate(prompt_id, "x", version=version)


def test_it_is_read_how_a_prompt_did(tools: Tools, client: Client, prompt_id: int) -> None:
    assert tools.read_insight(prompt_id) == "There is nothing."
    run = {"id": prompt_id, "question": "Who?", "productive": False}
    assert client.post("/api/v1/prompts/run", run).status == 200
    wait_until(lambda: "; runs: 1, failed: 0.0%" in tools.read_insight(prompt_id, "day"), "the run to be counted")


@pytest.mark.parametrize("session_id", ["", "..", "../prompts", "x" * 3000, "\u0000", "?a=b#c"])
def test_an_id_leads_to_no_other_address(tools: Tools, session_id: str) -> None:
    with pytest.raises(CouldNotRun):
        tools.read_session(session_id)


def test_a_long_prompt_is_read_in_pages(tools: Tools, client: Client, prompt_id: int) -> None:
    text = "😀" * 100_000
    client.patch(f"/api/v1/prompts/{prompt_id}", {"value": text})

    pages = [tools.read_prompt(prompt_id, offset=number * PAGE_CHARACTERS) for number in range(3)]
    assert "".join(page[:PAGE_CHARACTERS] for page in pages).partition("Text:\n")[2] == text


def test_an_unreachable_instance_and_an_unknown_gate_are_reported_as_such(tools: Tools) -> None:
    away = connect("http://127.0.0.1:1", "rp_key", tries=1)
    with pytest.raises(CouldNotRun, match="Connection refused"):
        Tools(away).read_gate(1)
    away.close()
    with pytest.raises(CouldNotRun, match="404"):
        tools.read_gate(9_999_999)


def test_a_gate_is_waited_for_later_and_not_cancelled_once_it_ended(
    tools: Tools, prompt_id: int, test_case_id: int
) -> None:
    gate = tools.run_gate(prompt_id, "Help nobody.", wait_s=0)
    experiment_id = int(gate.split()[1])

    assert f"Gate {experiment_id} of prompt {prompt_id}: finished" in tools.read_gate(experiment_id, wait_s=50)
    with pytest.raises(CouldNotRun, match="409"):
        tools.cancel_gate(experiment_id)


def test_a_gate_plays_a_text_on_another_version_than_the_draft(tools: Tools, prompt_id: int, test_case_id: int) -> None:
    commit = tools.list_versions(prompt_id)[:8]

    for version, baseline in (("latest", "latest"), (commit, "none"), (commit[:5], commit)):
        assert "**Passed.**" in tools.run_gate(prompt_id, "Help everyone.", version, baseline)


def test_a_gate_ranks_several_texts(tools: Tools, prompt_id: int, test_case_id: int) -> None:
    ranked = tools.run_gate(prompt_id, candidates={"short": "Help.", "long": "Help everyone."}, version="latest")

    assert "short" in ranked
    assert "long" in ranked
    with pytest.raises(CouldNotRun, match="Send text or candidates"):
        tools.run_gate(prompt_id, "Help.", candidates={"short": "Help."})


def test_a_replay_with_a_fault_shows_what_failed_and_what_the_draft_did(tools: Tools, test_case_id: int) -> None:
    shown = tools.run_replay(test_case_id, faults=[{"tool": "find", "call": 0, "kind": "refused"}])

    assert shown.startswith("Replay ")
    assert "Failed on purpose: call 0 of find, refused" in shown
    with pytest.raises(CouldNotRun, match=r"faults\.0\.call: there are 1"):
        tools.run_replay(test_case_id, faults=[{"tool": "find", "call": 1, "kind": "refused"}])
