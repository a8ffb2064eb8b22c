"""Lines of the log for people show what would control their terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from config.logging import show_controls


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
