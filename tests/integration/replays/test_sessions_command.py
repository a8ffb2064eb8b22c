"""`reprise sessions` and `reprise traces wait` as programs that speak to a running server."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
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


def test_the_newest_trace_is_shown_with_what_it_has(client: Client, tmp_path: Path) -> None:
    prompt_id = client.post("/api/v1/prompts", SHOP).json()["prompt"]["id"]
    session_id = record_session(client, prompt_id, SHOP_TURN)

    done = reprise(client, tmp_path, "traces", "wait", "--prompt", str(prompt_id))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Session {session_id} of prompt {prompt_id}, turns: 1.\nWords: recorded.\n")


def test_a_refused_batch_is_shown_while_no_trace_comes(client: Client, tmp_path: Path) -> None:
    prompt_id = client.post("/api/v1/prompts", SHOP).json()["prompt"]["id"]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(reprise, client, tmp_path, "traces", "wait", "--prompt", str(prompt_id), "--timeout", "6")
        while not waiting.done():
            # Each time with another reason, because a process notes the same one seldom.
            path = f"/api/public/prompts/{prompt_id}/otel/v1/traces"
            client.request("POST", path, body=b"", headers={"Content-Type": f"text/{uuid.uuid4().hex}"})
            time.sleep(0.5)
    done = waiting.result()

    assert done.returncode == 2
    assert "Refused: Content-Type must be application/x-protobuf" in done.stderr
    assert "No trace of prompt" in done.stderr
