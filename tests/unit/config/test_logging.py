"""Lines of the log for people show what would control their terminal."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from config.logging import configure, show_controls
from tests.support.world import settings_for


@pytest.fixture
def _restored() -> Iterator[None]:
    """Undo what the test configured."""
    root = logging.getLogger()
    handlers, level, config = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**config)


@pytest.mark.usefixtures("_restored")
def test_a_logger_that_was_used_before_follows_the_last_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(settings_for(tmp_path), log_format="json", log_level="warning")
    log = structlog.get_logger("tests.once")
    monkeypatch.setattr("sys.stderr", first := io.StringIO())
    configure(settings)
    log.warning("before")
    monkeypatch.setattr("sys.stderr", second := io.StringIO())
    configure(settings)
    log.warning("after")

    with structlog.testing.capture_logs() as captured:
        log.warning("captured")

    assert [json.loads(output.getvalue())["event"] for output in (first, second)] == ["before", "after"]
    assert [entry["event"] for entry in captured] == ["captured"]


@given(st.text(), st.text())
def test_texts_of_a_line_control_no_terminal(event: str, value: str) -> None:
    shown = show_controls(None, "info", {"event": event, "path": value, "exception": value, "count": 3})

    assert not set("\x1b\x07\r\x9b\u202e") & set("".join(str(text) for text in shown.values()))
    assert "\n" not in f"{shown['event']}{shown['path']}"
    assert shown["count"] == 3


def test_a_trace_of_an_exception_keeps_its_lines() -> None:
    text = "Traceback:\n  one\n\x1b[2J"
    assert show_controls(None, "error", {"exception": text})["exception"] == "Traceback:\n  one\n\\u001b[2J"
    assert show_controls(None, "error", {"event": text})["event"] == r"Traceback:\n  one\n\u001b[2J"
