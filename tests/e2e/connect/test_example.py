"""The example agent is run as its first lines say, and its session is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.deployment import ROOT, EmbeddedServer, environment

AGENT = [sys.executable, str(ROOT / "examples" / "weather_agent.py")]


def run(home: Path, server: EmbeddedServer, *words: str) -> str:
    settings = {"BASE_URL": server.url, "API_KEY": server.client().api_key}
    done = subprocess.run(
        [*AGENT, *words], env=environment(home, settings), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_shows_a_session_with_its_tools(server: EmbeddedServer, tmp_path: Path) -> None:
    said = run(tmp_path, server, "Oslo", "Rome")

    assert "agent  Oslo: 4 °C and rain." in said
    session = server.client().get(f"/api/v1/sessions/{said.split()[-1].rpartition('/')[2]}").json()
    assert [turn["user"] for turn in session["turns"]] == ["Oslo", "Rome"]
    for turn in session["turns"]:
        [called, answer] = turn["steps"]
        assert (called["name"], called["arguments"]) == ("get_weather", {"city": turn["user"]})
        assert called["result"] == answer["text"]
        assert turn["warnings"] == []


def test_each_run_is_a_session_of_the_same_prompt(server: EmbeddedServer, tmp_path: Path) -> None:
    first, second = run(tmp_path, server, "Oslo"), run(tmp_path, server, "Oslo")

    sessions = [
        server.client().get(f"/api/v1/sessions/{said.rpartition('/')[2].strip()}").json() for said in (first, second)
    ]
    assert sessions[0]["promptId"] == sessions[1]["promptId"]
    assert sessions[0]["id"] != sessions[1]["id"]
