"""What makes a process slow to start is imported when it is first used."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "root", ["app.process.wsgi", "app.process.worker", "app.process.clock", "app.process.embedded"]
)
def test_a_process_starts_without_what_only_some_processes_use(root: str) -> None:
    heavy = ["any_llm", "openai", "anthropic", "google.genai", "alembic", "mako", "fakeredis"]
    code = f"import sys, {root}; print(*(name for name in {heavy} if name in sys.modules))"
    env = {"PATH": os.environ["PATH"], "REPRISE_SECRET_KEY": "secret"}
    env |= {"DATABASE_URL": "mysql://reprise@127.0.0.1:1/reprise", "REDIS_URL": "redis://127.0.0.1:1/0"}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert loaded.stdout.split() == []
