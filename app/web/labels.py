"""Texts and colours of statuses, and names of vendors. Templates see this module as `labels`."""

from __future__ import annotations

from reprise_formats import replay_words as words
from reprise_formats.experiment_summary import CLASSES

from app.providers import vendors

# The text and the kind of a badge. Kinds: ok, bad, warn, accent or "".
Badge = tuple[str, str]

RUNS: dict[str, Badge] = {
    "queued": ("waiting", "accent"),
    "running": ("running", "accent"),
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
SCHEDULES: dict[str, str] = {"experiment": "Experiment", "watch": "Watch", "suite-coverage": "Coverage"}
WATCHED: dict[str, Badge] = {
    "dropped": ("dropped", "bad"),
    "suspected": ("suspected", "warn"),
    "collecting": ("collecting", ""),
    "steady": ("steady", "ok"),
}
WORKED: dict[str, Badge] = {
    "open": ("open", "bad"),
    "reopened": ("came back", "bad"),
    "in_work": ("in progress", "accent"),
    "solved": ("solved", "ok"),
}
GUARDS: dict[str, Badge] = {
    "guarded": ("guarded", "ok"),
    "unguarded": ("unguarded", "bad"),
    "inert": ("no effect", "warn"),
    "undecided": ("undecided", ""),
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
_STEP_COLORS = {"passed": "ok", "failed": "bad", "needs_review": "warn"}
STEPS: dict[str, Badge] = {name: (text, _STEP_COLORS.get(name, "")) for name, text in words.RESULTS.items()}
STOPS = words.STOPS
VIOLATIONS = words.VIOLATIONS
FAULTS = words.FAULTS
EFFECTS: dict[str, Badge] = {name: (text, "warn" if name == "write" else "") for name, text in words.EFFECTS.items()}
EFFECTS_FROM = {
    "test_case": "as this test case sets it",
    "prompt": "as the prompt's tools have it",
    "annotation": "by the hints in its definition",
    "name": "by the first word of its name",
    "unknown": "as nothing marks it as read-only",
}
_ANSWER_COLORS = {"recording": "ok", "borrowed": "accent", "static": "accent"}
ANSWERED_BY: dict[str, Badge] = {
    name: (text, _ANSWER_COLORS.get(name, "warn")) for name, text in words.ANSWERED_BY.items()
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
FINDINGS = words.FINDINGS
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
    "promptId": "prompt",
    "prompt_price": "price of input",
    "completion_price": "price of output",
    "cache_read_price": "price of cache reads",
    "cache_write_price": "price of cache writes",
    "reasoning_price": "price of reasoning",
}


def vendor(code: str) -> str:
    """Return the name of a vendor. An unknown code is returned unchanged."""
    return VENDORS.get(code, code)


def model(name: str, vendor_code: str) -> str:
    """Return the names of a model and its vendor."""
    return f"{name}, {vendor(vendor_code)}"
