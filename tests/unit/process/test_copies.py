"""What is started as a copy is the program that a new process would be, but for its name and what it has imported."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.process import copies
from tests.support.deployment import ROOT, environment
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(not copies.COPIES, reason="copies are made on Linux")

TELLER = ["python", "-m", "tests.support.self_report"]
# Ends children as soon as they are started, by a signal that this process handles.
ENDING = f"""
import os, signal
from app.process import copies
signal.signal(signal.SIGTERM, lambda *_: None)
for copied in [False, True] * 10:
    process = copies.start("sleeper", {[*TELLER, "sleep"]}, dict(os.environ), copied=copied)
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    print(process.exitcode)
"""
EXITING = f"""
import atexit, os, sys
from app.process import copies
atexit.register(print, "the end of the first")
copies.start("teller", [*{TELLER}, sys.argv[1]], dict(os.environ), copied=True).join()
print("the end of the copy")
"""


def told(tmp_path: Path, *, copied: bool) -> dict[str, Any]:
    """Return what a process reports about itself."""
    file = tmp_path / "told"
    argv = [*TELLER, str(file), "two words"]
    process = copies.start("replays of mine", argv, environment(tmp_path, {"MARK": "é"}), copied=copied)
    process.join(PATIENCE_S)
    assert process.exitcode == 3
    facts: dict[str, Any] = json.loads(file.read_text())
    assert facts.pop("pid") == facts.pop("group") == process.pid
    return facts


def lines_of(code: str, *arguments: str, home: Path) -> list[str]:
    argv = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        argv, env=environment(home), cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=True
    )
    return done.stdout.splitlines()


def test_a_copy_has_what_a_new_process_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THIS_PROCESS", "alone")
    new, copy = told(tmp_path, copied=False), told(tmp_path, copied=True)
    assert (new.pop("name"), copy.pop("name")) == ("python", "reprise replays")
    assert (new.pop("has_pytest"), copy.pop("has_pytest")) == (False, True)
    assert new == copy
    assert new["arguments"] == [str(tmp_path / "told"), "two words"]
    assert new["environment"]["MARK"] == "é"
    assert "OF_THIS_PROCESS" not in new["environment"]


def test_a_copy_calls_only_its_own_exit_handlers(tmp_path: Path) -> None:
    said = lines_of(EXITING, str(tmp_path / "told"), home=tmp_path)
    assert said == ["the end of the copy", "the end of the first"]
    assert (tmp_path / "exit handler").exists()


def test_a_process_that_is_asked_to_end_at_its_start_ends(tmp_path: Path) -> None:
    assert lines_of(ENDING, home=tmp_path) == ["-15"] * 20
