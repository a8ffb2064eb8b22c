"""`reprise sessions` as a program that speaks to a running server."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import reprise
from tests.support.documents import SHOP, SHOP_TURN, record_session
from tests.support.http_client import Client


def test_sessions_are_listed_with_what_they_cost_and_found_by_conditions(client: Client, tmp_path: Path) -> None:
    prompt_id = client.post("/api/v1/prompts", SHOP).json()["prompt"]["id"]
    session_id = record_session(client, prompt_id, SHOP_TURN)
    (found,) = client.get(f"/api/v1/sessions?promptId={prompt_id}").json()["sessions"]

    done = reprise(client, tmp_path, "sessions", "--prompt", str(prompt_id), "--no-error")
    none = reprise(client, tmp_path, "sessions", "--prompt", str(prompt_id), "--error", "--q", "refund -order")
    wrong = reprise(client, tmp_path, "sessions", "--from", "yesterday")

    assert (done.returncode, done.stderr) == (0, "")
    cells = done.stdout.rstrip("\n").split("\t")
    assert cells[:4] == [session_id, found["lastActivityAt"], "1", "0"]
    assert cells[5] == found["preview"]
    assert (none.returncode, none.stdout) == (0, "")
    assert wrong.returncode == 2
    assert "from: Not a valid" in wrong.stderr
