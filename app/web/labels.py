"""Texts and colours of statuses, and names of vendors. Templates see this module as `labels`."""

from __future__ import annotations

from reprise_formats.experiment_summary import CLASSES

from app.providers import vendors

# The text and the kind of a badge. Kinds: ok, bad, warn, accent or "".
Badge = tuple[str, str]

RUNS: dict[str, Badge] = {
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
    "ok": ("OK", "ok"),
    "nok": ("not OK", "warn"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", ""),
}
RUN_ERRORS = {
    "provider": "The model's vendor refused or failed.",
    "provider_timeout": "The model's vendor did not answer in time.",
    "invalid": "The request could not be run.",
    "not_found": "Something that it needs was removed.",
    "unavailable": "A part of this instance was not available.",
    "interrupted": "Its worker process ended.",
    "not_started": "No worker started it.",
    "internal": "An error in Reprise itself.",
}
RUN_SOURCES = {"api": "API", "ui": "this site", "replay": "a replay"}
RUN_TOKENS = {
    "prompt": "in",
    "completion": "out",
    "cache_read": "read from the cache",
    "cache_write": "written to the cache",
    "reasoning": "for reasoning",
}
REPLAYS: dict[str, Badge] = {
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
    "passed": ("passed", "ok"),
    "failed": ("failed", "bad"),
    "needs_review": ("needs review", "warn"),
    "void": ("void", "warn"),
    "error": ("error", "bad"),
    "cancelled": ("cancelled", ""),
}
CALIBRATIONS: dict[str, Badge] = {
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
    "finished": ("finished", "ok"),
    "error": ("error", "bad"),
    "cancelled": ("cancelled", ""),
}
# By the verdict of an experiment, or its status without a verdict. "same": the candidate equals its baseline.
EXPERIMENTS: dict[str, Badge] = {
    "same": ("nothing compared", ""),
    "passed": ("passed", "ok"),
    "failed": ("failed", "bad"),
    "inconclusive": ("undecided", "warn"),
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
    "error": ("error", "bad"),
    "cancelled": ("cancelled", ""),
}
WATCHED: dict[str, Badge] = {
    "dropped": ("dropped", "bad"),
    "suspected": ("suspected", "warn"),
    "collecting": ("collecting", ""),
    "steady": ("steady", "ok"),
}
AUDITS: dict[str, Badge] = {
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
    "finished": ("finished", ""),
    "error": ("error", "bad"),
    "cancelled": ("cancelled", ""),
}
_CLASS_COLORS = {"regressed": "bad", "stable_fail": "bad", "flaky": "warn", "undecided": "warn", "improved": "ok"}
CASE_CLASSES: dict[str, Badge] = {name: (text, _CLASS_COLORS.get(name, "")) for name, text in CLASSES.items()}
STEPS: dict[str, Badge] = {
    "passed": ("passed", "ok"),
    "failed": ("failed", "bad"),
    "ignored": ("ignored", ""),
    "not_run": ("not run", ""),
    "needs_review": ("needs review", "warn"),
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
    "lost_tool": "is no longer among the draft's tools",
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
EFFECTS: dict[str, Badge] = {
    "read": ("reads", ""),
    "write": ("writes", "warn"),
    "by_call": ("decided by each call", ""),
}
EFFECTS_FROM = {
    "test_case": "as this test case sets it",
    "prompt": "as the prompt's tools have it",
    "annotation": "by the hints in its definition",
    "name": "by the first word of its name",
    "unknown": "as nothing marks it as read-only",
}
ANSWERED_BY: dict[str, Badge] = {
    "recording": ("answered by the recording", ""),
    "borrowed": ("borrowed from another turn", "accent"),
    "nearest": ("answered with the next recorded result", "warn"),
    "static": ("answered with the test case's own result", "accent"),
    "simulate": ("played by a model", "warn"),
    "fault": ("failed on purpose", "warn"),
    "none": ("not answered", "warn"),
}
DECIDED_BY = {
    "text": "by its text",
    "facts": "by the values in it",
    "guard": "by what it affirms or denies",
    "rule": "by a rule",
    "known": "by an earlier verdict on the same texts",
    "judge": "by a judge model",
    "person": "by a person",
    "check": "by its check",
}
FACTS: dict[str, Badge] = {"lost": ("lost", "bad"), "invented": ("invented", "bad"), "kept": ("kept", "ok")}
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
REJECTED_SPANS = {
    "malformed_span": "Send each span as an OTLP JSON object",
    "bad_trace_id": "Send a traceId of 32 hex digits, not all zero",
    "bad_span_id": "Send a spanId of 16 hex digits, not all zero",
    "no_name": "Give the span a name",
    "no_start_time": "Send startTimeUnixNano",
    "bad_attributes": "Send attributes as a list of key and value",
    "missing_prompt_id": "Set the attribute service.prompt.id on every span",
    "prompt_id_on_resource": "Set service.prompt.id on the spans; it is not read from the resource",
    "prompt_id_cut": "Raise the limit of attributes per span: service.prompt.id was dropped",
    "bad_prompt_id": "Set service.prompt.id to a prompt's number",
    "unknown_prompt": "Use the id of a prompt in the API key's project",
    "too_large": "Send smaller spans: limit the length of attributes",
    "clock_ahead": "Set the clock of the computer that sends the spans",
    "clock_behind": "Set the clock of the computer that sends the spans",
    "batch_400": "Send an OTLP export",
    "batch_403": "Use an API key with the scope ingest",
    "batch_404": "Send to the address of a prompt in the API key's project",
    "batch_405": "Send batches with POST",
    "batch_413": "Send smaller batches",
    "batch_415": "Send a format that the address accepts",
    "batch_429": "Send fewer, larger batches",
}
VENDORS = {"BUILTIN": "Built in"} | {name: profile.title for name, profile in vendors.VENDORS.items()}

AUDIT_DETAILS = {
    "baseUrl": "base URL",
    "lastFour": "ends in",
    "is_default": "default",
    "acceptPartial": "replays without all that the model saw",
    "corrections": "corrected steps",
    "old": "before",
    "new": "now",
    "wrong": "wrong passwords",
    "refused": "refused tries",
    "address": "last from",
    "spans_days": "days that spans are kept",
    "runs_days": "days that runs are kept",
    "replays_days": "days that replays are kept",
    "rejected_days": "days that rejected spans are kept",
    "masking": "masking rules",
}


def vendor(code: str) -> str:
    """Return the name of a vendor. An unknown code is returned unchanged."""
    return VENDORS.get(code, code)


def model(name: str, vendor_code: str) -> str:
    """Return the names of a model and its vendor."""
    return f"{name}, {vendor(vendor_code)}"
