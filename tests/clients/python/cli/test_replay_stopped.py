"""`reprise replay` that ends before its first replay: exit code 2, one line with the reason, the pipeline's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import main, remote

from tests.fakes.json_server import serving


def reprise(url: str, *arguments: str, key: str = "rp_key") -> Result:
    return CliRunner().invoke(main, arguments, env={"REPRISE_URL": url, "REPRISE_API_KEY": key})


@pytest.mark.parametrize(
    "content",
    [
        {"message": "Welcome to another service."},
        {"testCases": 5, "nextCursor": None},
        {"testCases": [1], "nextCursor": None},
        {"testCases": [{}], "nextCursor": None},
        {"testCases": []},
        {"labels": {"production": 1}},
        [],
        "text",
        5,
        pytest.param(b"[" * 100_000, id="levels"),
    ],
)
@pytest.mark.parametrize("command", [("replay",), ("test-cases", "export", "cases"), ("labels", "list")])
def test_other_json_at_the_address_is_one_line_and_exit_code_2(
    content: Any, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(lambda *_: (200, content)) as url:
        ended = reprise(url, *command, "--prompt", "3")

    assert ended.exit_code == 2
    assert "is this the address of a Reprise?" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_other_json_in_the_place_of_an_experiment_is_named_and_exit_code_2() -> None:
    with serving(lambda *_: (200, {"message": "Welcome."})) as url:
        ended = reprise(url, "gate", "--prompt", "3")

    assert ended.exit_code == 2
    assert "is this the address of a Reprise?" in ended.output


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((404, {"error": "There is no such prompt."}), "There is no such prompt."),
        ((200, {"testCases": [], "nextCursor": None}), "Prompt 3 has no test cases."),
        ((200, {"message": "Welcome."}), "is this the address of a Reprise?"),
    ],
)
def test_the_files_of_a_pipeline_name_the_reason_why_nothing_was_replayed(
    answer: tuple[int, Any], why: str, tmp_path: Path
) -> None:
    junit, report = tmp_path / "reports" / "replay.xml", tmp_path / "replay.json"
    with serving(lambda *_: answer) as url:
        ended = reprise(url, "replay", "--prompt", "3", "--junit", str(junit), "--json", str(report))

    assert ended.exit_code == 2
    assert why in ended.stderr
    (suite,) = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    (error,) = suite.iter("error")
    assert why in (error.text or "")
    told = json.loads(report.read_text())
    assert (told["exitCode"], told["replays"][0]["testCaseId"]) == (2, None)
    assert why in told["replays"][0]["problem"]


def test_without_a_key_the_files_are_written_as_well(tmp_path: Path) -> None:
    junit = tmp_path / "replay.xml"
    assert reprise("http://127.0.0.1:9", "replay", "--prompt", "3", "--junit", str(junit), key="").exit_code == 2
    assert "REPRISE_API_KEY" in junit.read_text()


def test_a_file_that_can_t_be_written_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with serving(lambda *_: (200, {"testCases": [], "nextCursor": None})) as url:
        ended = reprise(url, "replay", "--prompt", "3", "--junit", str(tmp_path))
        missing = reprise(url, "replay", "--prompt", "3", "--junit", "/proc/nothing/replay.xml")

    assert (ended.exit_code, missing.exit_code) == (2, 2)
    assert "/proc/nothing/replay.xml" in missing.stderr


def test_an_absent_server_is_waited_for_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE_S", 0.0)
    monkeypatch.setattr(remote, "PAUSE_MAX_S", 0.0)
    with serving(lambda *_: (200, {})) as url:
        pass  # the port is free again
    ended = reprise(url, "replay", "--prompt", "3")

    waiting, gave_up = ended.stderr.splitlines()
    assert ended.exit_code == 2
    assert url in waiting
    assert "Waiting" in waiting
    assert url in gave_up
