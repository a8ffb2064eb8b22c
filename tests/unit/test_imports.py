"""What makes a process slow to start is imported when it is first used."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "root", ["app.process.wsgi", "app.process.worker", "app.process.clock", "app.process.embedded"]
)
def test_a_process_starts_without_the_vendors_libraries(root: str) -> None:
    heavy = ["any_llm", "openai", "anthropic", "google.genai"]
    code = f"import sys, {root}; print(*(name for name in {heavy} if name in sys.modules))"
    env = {"PATH": os.environ["PATH"]}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert loaded.stdout.split() == []
