"""The example agent is run with the commands of its first lines, and its session arrives."""

from __future__ import annotations

import subprocess
import sys

from tests.support.deployment import ROOT, EmbeddedServer, environment
from tests.support.waiting import wait_until

AGENT = [sys.executable, str(ROOT / "examples" / "weather_agent.py")]


def run(server: EmbeddedServer, *words: str) -> str:
    done = subprocess.run(
        [*AGENT, *words], env=environment(server.home), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def session_id(said: str) -> str:
    return said.split()[-1].rpartition("/")[2]


def test_the_example_shows_a_session_with_its_tools(server: EmbeddedServer) -> None:
    said = run(server, "Oslo", "Rome")

    assert "agent  Oslo: 4 °C and rain." in said
    session = server.client().get(f"/api/v1/sessions/{session_id(said)}").json()
    assert [turn["user"] for turn in session["turns"]] == ["Oslo", "Rome"]
    for turn in session["turns"]:
        [called, answer] = turn["steps"]
        assert (called["name"], called["arguments"]) == ("get_weather", {"city": turn["user"]})
        assert called["result"] == answer["text"]
        assert turn["warnings"] == []


def test_each_run_is_a_session_of_the_same_prompt(server: EmbeddedServer) -> None:
    ids = [session_id(run(server, "Oslo")) for _ in range(2)]

    first, second = (server.client().get(f"/api/v1/sessions/{one}").json() for one in ids)
    assert first["promptId"] == second["promptId"]
    assert first["id"] != second["id"]


def test_a_test_case_of_the_example_s_session_passes(server: EmbeddedServer) -> None:
    client = server.client()
    session = session_id(run(server, "Oslo", "Rome"))
    case = client.post(f"/api/v1/sessions/{session}/test-cases", {}).json()["id"]

    replay = client.post(f"/api/v1/test-cases/{case}/replays", {}).headers["Location"]

    wait_until(lambda: client.get(replay).json()["status"] not in ("queued", "running"), "the replay", 30)
    ended = client.get(replay).json()
    assert [[step["result"] for step in turn["steps"]] for turn in ended["turns"]] == [["passed", "passed"]] * 2
