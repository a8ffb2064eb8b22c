"""Words for the values that replays have in the API, as pages, reports and comments show them.

A client may meet the value of a newer instance: use `word`, which returns an unknown value unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

RESULTS = {
    "passed": "passed",
    "failed": "failed",
    "ignored": "ignored",
    "not_run": "not run",
    "needs_review": "needs review",
}
STOPS = {
    "missing_result": "The draft called a tool that the recording has no result for, so the replay ended here.",
    "step_limit": "The draft called tools again and again, so the turn was ended.",
    "no_user_text": "The user's message was not recorded, so this turn can't be played.",
    "provider_error": "The model's vendor failed.",
    "cancelled": "A person cancelled it.",
}
# The text of each kind of violation, to follow the tool's name.
VIOLATIONS = {
    "extra_write": "made a write that is not in the recording",
    "extra_read": "made a read that is not in the recording",
    "never": "was called, which the test case forbids",
    "order": "was called too early",
    "lost_tool": "is no longer offered",
    "max_calls": "was called too often",
    "unanswered_write": "made a write with other arguments",
    "repeated_write": "was called again after it had failed on purpose",
}
FAULTS = {
    "timeout": "does not answer in time",
    "error": "fails with an error",
    "refused": "refuses the call",
    "empty": "returns nothing",
    "garbage": "returns unreadable text",
}
EFFECTS = {"read": "reads", "write": "writes", "by_call": "decided by each call"}
ANSWERED_BY = {
    "recording": "answered by the recording",
    "borrowed": "borrowed from another turn",
    "nearest": "answered with the next recorded result",
    "static": "answered with the test case's own result",
    "simulate": "played by a model",
    "fault": "failed on purpose",
    "none": "not answered",
}
FINDINGS = {
    "missing": "Missing",
    "added": "Added",
    "contradicts": "Contradiction",
    "unsupported": "Unsupported",
    "against_instruction": "Against the instruction",
    "leaks": "Reveals too much",
    "language": "Another language",
    "format": "Another format",
    "refusal": "Refusal",
    "other": "Another difference",
}


def word(words: Mapping[str, str], value: str) -> str:
    """Return the words for a value, an unknown value unchanged."""
    return words.get(value, value)


def violation_line(violation: Mapping[str, str]) -> str:
    """Return the tool and what it did against the rules: "refund was called too often"."""
    return f"{violation['tool']} {word(VIOLATIONS, violation['kind'])}"
