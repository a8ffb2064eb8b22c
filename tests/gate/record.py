"""Records the conversations: `python -m tests.gate.record [NAME …]` runs an agent of each SDK against a fake model.

The SDKs have the versions that the pages of docs/connect pin. A recording holds what the SDK's exporter sent.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.connect.sdks import DOCS, installed
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.gate.conversations import CONVERSATIONS, Call, Conversation
from tests.support.deployment import environment

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
PROMPT_ID = 4242
TIMEOUT_S = 120
# The page of docs/connect with a recorder's pins, and its program.
RECORDERS = {
    "openinference": ("openinference", "client.py"),
    "openllmetry": ("openllmetry-python", "client.py"),
    "openai_agents": ("openai-agents", "openai_agents.py"),
    "pydantic_ai": ("pydantic-ai", "pydantic_agent.py"),
}
RECORDED = {
    "support": ("openinference", "openllmetry", "openai_agents", "pydantic_ai"),
    "booking": ("openinference", "openai_agents"),
    "coding": ("openllmetry", "pydantic_ai"),
    "retrieval": ("openinference", "openai_agents"),
    "german": ("openllmetry",),
    "spanish": ("openinference",),
    "french": ("pydantic_ai",),
    "stock": ("openllmetry", "openai_agents"),
}


def main(names: list[str]) -> None:
    for conversation, recorders in RECORDED.items():
        for recorder in recorders:
            name = f"{conversation}.{recorder}"
            if not names or name in names:
                batches = record(conversation, recorder)
                (RECORDINGS / f"{name}.json").write_text(
                    json.dumps(merged(batches), ensure_ascii=False, indent=1) + "\n"
                )
                sys.stdout.write(f"{name}: {len(batches)} batches\n")


def record(conversation: str, recorder: str) -> list[Any]:
    """The bodies that an agent's exporter sent."""
    page, program = RECORDERS[recorder]
    home = installed(DOCS / page)
    script = CONVERSATIONS[conversation]
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream, collector() as (url, batches):
        for path in (HERE / "agents" / program, HERE / "agents" / "common.py", DOCS / "reprise.py"):
            shutil.copy(path, folder)
        upstream.script(*replies(script))
        settings = {
            "BASE_URL": url,
            "API_KEY": "none",
            "PROMPT_ID": str(PROMPT_ID),
            "OPENAI_API_KEY": "sk-fake",
            "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
            "RECORDED_BY": recorder,
            "SCRIPT": json.dumps({"name": conversation, **asdict(script)}),
        }
        command = [str(home / "bin" / "python"), program]
        subprocess.run(command, cwd=folder, env=environment(Path(folder), settings), timeout=TIMEOUT_S, check=True)
    return batches


def replies(script: Conversation) -> Iterator[Reply]:
    """The answers of the model, with a new id for each call, as a vendor gives it."""
    numbers = count(1)
    for turn in script.turns:
        for calls in turn.rounds:
            asked = [call_of(f"call_{next(numbers):04}", call) for call in calls]
            yield completion({"role": "assistant", "content": None, "tool_calls": asked}, "tool_calls")
        yield completion({"role": "assistant", "content": turn.answer}, "stop")


def call_of(call_id: str, call: Call) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def completion(message: dict[str, Any], finish: str) -> Reply:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
    }
    return Reply(raw=json.dumps(body).encode(), headers={"content-type": "application/json"})


def merged(batches: list[Any]) -> dict[str, Any]:
    return {"resourceSpans": [resource for batch in batches for resource in batch["resourceSpans"]]}


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """A server that keeps what it is sent; its base URL and the bodies."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
