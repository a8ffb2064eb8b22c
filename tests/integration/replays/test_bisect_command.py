"""`reprise bisect` against a real server: which version made a test case fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.replays.recording import tool
from tests.integration.replays.test_replay_command import prompt_with_a_tool, recorded_case
from tests.support.command_line import reprise
from tests.support.http_client import Client


@pytest.fixture
def prompt_id(client: Client) -> int:
    """A prompt of five versions, the fourth of which calls a tool with another argument."""
    created = prompt_with_a_tool(client)
    for number, argument in ((1, "order"), (2, "order"), (3, "number"), (4, "number")):
        change = {"value": f"Help {number}.", "languageModelConfig": {"tools": [tool("find", argument)]}}
        assert client.patch(f"/api/v1/prompts/{created}", change).status == 200
        assert client.post(f"/api/v1/prompts/{created}/commit", {"message": f"Change {number}"}).status == 201
    return created


def test_the_version_is_named_with_its_message_and_a_failing_replay(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    case = recorded_case(client, prompt_id, name="Where is it?")
    draft = client.get(f"/api/v1/prompts/{prompt_id}?productive=false").body
    versions = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"]

    done = reprise(
        client, tmp_path, "bisect", "--prompt", str(prompt_id), "--test-case", str(case["id"]), "--repeats", "3"
    )

    assert (done.returncode, done.stderr) == (0, "")
    told, counts, link = done.stdout.splitlines()[-3:]
    assert told.startswith(f"Where is it? began to fail with version {versions[1]['commitHash'][:8]}: Change 3")
    assert "Before it: failed 0 of" in counts
    replay = client.get(f"/api/v1/replays/{link.rpartition('/')[2]}").json()
    assert (replay["status"], replay["candidate"]["commitHash"]) == ("failed", versions[1]["commitHash"])
    assert client.get(f"/api/v1/prompts/{prompt_id}?productive=false").body == draft


def test_between_two_versions_that_pass_there_is_nothing_to_find(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    recorded_case(client, prompt_id, name="Where is it?")
    (*_, second, _first) = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"]
    options = ("--test-case", "Where is it?", "--bad", second["commitHash"][:10], "--repeats", "2")

    done = reprise(client, tmp_path, "bisect", "--prompt", str(prompt_id), *options)

    assert (done.returncode, "fails no more often" in done.stdout) == (1, True)


def test_too_few_replays_are_no_certainty(client: Client, prompt_id: int, tmp_path: Path) -> None:
    recorded_case(client, prompt_id, name="Where is it?")
    options = ("--test-case", "Where is it?", "--repeats", "2", "--max-replays", "4")

    done = reprise(client, tmp_path, "bisect", "--prompt", str(prompt_id), *options)

    assert (done.returncode, "is not certain to have begun to fail" in done.stdout) == (3, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--test-case", "Nameless"), "has no test case 'Nameless'"),
        (("--test-case", "Where is it?", "--good", "f00dface"), "has no version 'f00dface'"),
        (("--test-case", "Where is it?", "--good", ""), "nothing between"),
        ((), "--test-case"),
    ],
)
def test_what_can_not_run_ends_with_2(
    client: Client, prompt_id: int, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    recorded_case(client, prompt_id, name="Where is it?")
    newest = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"][0]["commitHash"]
    named = tuple(option or newest for option in options)

    done = reprise(client, tmp_path, "bisect", "--prompt", str(prompt_id), *named)

    assert (done.returncode, words in done.stderr) == (2, True)
