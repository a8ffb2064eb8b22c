"""`reprise gate --repeats … -- program`: experiments over revisions of a program, against a real server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.fakes.upstream import Upstream
from tests.integration.replays.test_gate_program import (  # noqa: F401 - fixtures
    LINES,
    answer,
    client,
    gate,
    prompt_id,
    running,
    script,
    server,
    vendor,
)
from tests.integration.replays.test_replay_command import recorded_case
from tests.support.command_line import reprise
from tests.support.deployment import environment
from tests.support.http_client import Client
from tests.support.waiting import wait_until

# pytest injects fixtures by the names of parameters.
# ruff: noqa: F811
NEWEST = LINES.replace('"content": "Help."', '"content": "Help with the newest order."')
OPTIONS = ("--stdio", "--repeats", "6", "--program-name", "shop")


def obey(vendor: Upstream) -> None:
    """Find another order for the instruction that asks for the newest."""
    vendor.choose = lambda body: answer(body, "A-1" if body["messages"][0]["content"] == "Help." else "A-2")


def verdict(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    return done.returncode, done.stdout.partition(" ")[0]


def test_a_revision_is_compared_with_the_newest_one_that_passed(
    client: Client, prompt_id: int, vendor: Upstream, tmp_path: Path
) -> None:
    obey(vendor)
    program, files = script(tmp_path, LINES), ("--junit", "out.xml", "--json", "out.json", "--markdown", "out.md")
    first = gate(client, tmp_path, prompt_id, program, *OPTIONS, "--revision", "r1")
    assert verdict(first) == (0, "PASSED"), first.stdout + first.stderr

    same = gate(client, tmp_path, prompt_id, program, *OPTIONS, *files, "--revision", "r2", "--copies", "3")

    assert verdict(same) == (0, "PASSED"), same.stdout + same.stderr
    assert "passes as often as with revision r1" in same.stdout
    report = json.loads((tmp_path / "out.json").read_text())["experiment"]
    assert report["candidate"]["external"] == {"name": "shop", "revision": "r2", "dirty": False}
    assert report["baseline"]["external"]["revision"] == "r1"
    (case,) = report["testCases"]
    assert (case["candidate"]["runs"], case["baseline"]["runs"], case["baseline"]["reused"]) == (6, 6, 6)
    suite = ElementTree.parse(tmp_path / "out.xml")
    assert [node.get("name") for node in suite.findall(".//testcase")] == ["verdict", "Where is it?"]
    assert "| Test | Result | Revision r2 | Revision r1 |" in (tmp_path / "out.md").read_text()

    worse = gate(client, tmp_path, prompt_id, script(tmp_path, NEWEST), *OPTIONS, "--revision", "r3")

    assert verdict(worse) == (1, "FAILED"), worse.stdout + worse.stderr
    assert "got worse than revision r2" in worse.stdout
    assert "fix the program" in worse.stdout
    assert "A-2" in worse.stdout

    again = gate(client, tmp_path, prompt_id, script(tmp_path, NEWEST), *OPTIONS, "--revision", "r4")
    assert "got worse than revision r2" in again.stdout, "a revision that failed became the baseline"


def test_results_of_a_revision_are_used_again(client: Client, prompt_id: int, vendor: Upstream, tmp_path: Path) -> None:
    program = script(tmp_path, LINES)
    gate(client, tmp_path, prompt_id, program, *OPTIONS)
    asked = len(vendor.requests)

    again = gate(client, tmp_path, prompt_id, program, *OPTIONS)

    assert (verdict(again), len(vendor.requests)) == ((0, "PASSED"), asked), again.stdout + again.stderr
    assert "6 replays reused" in again.stdout


def test_a_named_baseline_needs_results(client: Client, prompt_id: int, tmp_path: Path) -> None:
    program = script(tmp_path, LINES)
    unknown = gate(client, tmp_path, prompt_id, program, *OPTIONS, "--baseline", "r0")
    assert (unknown.returncode, "r0 has 0 results" in unknown.stdout) == (2, True), unknown.stdout
    gate(client, tmp_path, prompt_id, program, *OPTIONS, "--baseline", "none")
    gate(client, tmp_path, prompt_id, program, *OPTIONS, "--revision", "r2")

    named = gate(client, tmp_path, prompt_id, program, *OPTIONS, "--revision", "r3", "--baseline", "r1")

    assert verdict(named) == (0, "PASSED"), named.stdout + named.stderr
    assert "with revision r1" in named.stdout


def test_a_branch_names_its_commit_as_the_baseline(client: Client, prompt_id: int, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tmp_path / ".gitignore").write_text("data\n*.json\n")
    program = script(tmp_path, LINES)

    def commit(*arguments: str) -> str:
        for step in (["add", "agent.py", ".gitignore"], ["commit", "-qm", "one", *arguments]):
            subprocess.run([*git, *step], check=True)
        done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def command(*options: str) -> subprocess.CompletedProcess[str]:
        arguments = ["--prompt", str(prompt_id), "--stdio", "--repeats", "2", "--json", "out.json", *options]
        return reprise(client, tmp_path, "gate", *arguments, "--", *program, folder=tmp_path)

    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    main = commit()
    first = command()
    assert first.returncode == 0, first.stdout + first.stderr
    subprocess.run([*git, "switch", "-qc", "change"], check=True)
    change = commit("--allow-empty")

    second = command("--baseline", "main")

    assert second.returncode == 0, second.stdout + second.stderr
    report = json.loads((tmp_path / "out.json").read_text())["experiment"]
    assert [report[side]["external"]["revision"] for side in ("candidate", "baseline")] == [change, main]
    assert f"revision {main[:8]}" in second.stdout


@pytest.mark.parametrize("copies", ["1", "3"])
def test_the_cost_ends_an_experiment_undecided(client: Client, prompt_id: int, tmp_path: Path, copies: str) -> None:
    cheap = ("--max-cost", "0.0000001", "--copies", copies)

    done = gate(client, tmp_path, prompt_id, script(tmp_path, LINES), *OPTIONS, *cheap)

    assert verdict(done) == (3, "INCONCLUSIVE"), done.stdout + done.stderr
    assert "the cost reached" in done.stdout


def test_a_program_that_crashes_ends_the_experiment_in_2(client: Client, prompt_id: int, tmp_path: Path) -> None:
    program = script(tmp_path, "import sys\nsys.stdin.readline()\nsys.exit('no database')\n")

    done = gate(client, tmp_path, prompt_id, program, *OPTIONS, "--copies", "2")

    assert (done.returncode, "no database" in done.stdout) == (2, True), done.stdout + done.stderr
    (experiment,) = client.get(f"/api/v1/prompts/{prompt_id}/experiments").json()["experiments"]
    assert experiment["status"] == "cancelled"
    replays = client.get(f"/api/v1/prompts/{prompt_id}/replays").json()["replays"]
    assert {replay["status"] for replay in replays} <= {"cancelled"}


def test_copies_share_the_replays(client: Client, prompt_id: int, vendor: Upstream, tmp_path: Path) -> None:
    recorded_case(client, prompt_id, name="And now?")

    done = gate(client, tmp_path, prompt_id, script(tmp_path, LINES), *OPTIONS, "--copies", "4", "--json", "out.json")

    assert verdict(done) == (0, "PASSED"), done.stdout + done.stderr
    cases = json.loads((tmp_path / "out.json").read_text())["experiment"]["testCases"]
    assert [case["candidate"]["runs"] for case in cases] == [6, 6]
    assert len(vendor.requests) == 2 * 6 * 2


def test_an_interrupted_experiment_is_cancelled(client: Client, prompt_id: int, tmp_path: Path) -> None:
    settings = {"REPRISE_API_KEY": client.api_key, "REPRISE_URL": client.base_url}
    program = script(tmp_path, "import sys, time\nsys.stdin.readline(); time.sleep(600)")
    command = [sys.executable, "-m", "reprise_client", "gate", "--prompt", str(prompt_id), "--revision", "r", *OPTIONS]
    process = subprocess.Popen([*command, "--", *program], env=environment(tmp_path, settings), cwd=tmp_path)
    wait_until(lambda: running(tmp_path), "the program")
    time.sleep(0.2)

    process.terminate()

    assert process.wait(60) == 2
    assert running(tmp_path) == []
    (experiment,) = client.get(f"/api/v1/prompts/{prompt_id}/experiments").json()["experiments"]
    assert experiment["status"] == "cancelled"


def test_a_suite_names_the_test_cases_with_and_without_repeats(client: Client, prompt_id: int, tmp_path: Path) -> None:
    recorded_case(client, prompt_id, name="And now?")
    (case, _) = client.get(f"/api/v1/prompts/{prompt_id}/test-cases").json()["testCases"]
    path, program = f"/api/v1/prompts/{prompt_id}/suites", script(tmp_path, LINES)
    assert client.post(path, {"name": "release", "testCaseIds": [case["id"]]}).status == 201
    assert client.post(path, {"name": "empty"}).status == 201
    options = ("--stdio", "--json", "out.json", "--suite")

    once = gate(client, tmp_path, prompt_id, program, *options, "release")
    played = json.loads((tmp_path / "out.json").read_text())["replays"]
    often = gate(client, tmp_path, prompt_id, program, *options, "release", "--repeats", "2")

    assert verdict(once) == (0, "PASSED"), once.stdout + once.stderr
    assert [replay["testCaseId"] for replay in played] == [case["id"]]
    assert verdict(often) == (0, "PASSED"), often.stdout + often.stderr
    compared = json.loads((tmp_path / "out.json").read_text())["experiment"]["testCases"]
    assert [entry["testCaseId"] for entry in compared] == [case["id"]]
    for name, problem in (("empty", "The suite 'empty' has no test cases."), ("no", "The prompt has no suite 'no'.")):
        refused = gate(client, tmp_path, prompt_id, program, *options, name)
        assert (refused.returncode, problem in refused.stderr) == (2, True), refused.stdout + refused.stderr
    both = gate(client, tmp_path, prompt_id, program, "--stdio", "--suite", "release", "--test-case", "And now?")
    assert (both.returncode, "one of --suite and --test-case" in both.stderr) == (2, True), both.stderr


@pytest.mark.parametrize("option", [("--file", "prompt.md"), ("--commit", "4f53a0b1"), ("--model", "gpt-4o")])
def test_options_of_texts_are_refused_for_a_program(
    client: Client, prompt_id: int, tmp_path: Path, option: tuple[str, str]
) -> None:
    done = gate(client, tmp_path, prompt_id, ["true"], "--stdio", *option)
    assert (done.returncode, "is not for a program" in done.stderr) == (2, True), done.stdout + done.stderr
