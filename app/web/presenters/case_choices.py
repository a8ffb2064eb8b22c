"""The choices in the form of a test case, each as (value, label)."""

from __future__ import annotations

from app.web import labels

MISSING = [
    ("error", "Return an error"),
    ("stop", "Stop the replay"),
    ("nearest", "Reads: next recorded result"),
    ("static", "The result set in its rules"),
    ("simulate", "Reads: a model plays the tool"),
]
CHOICES = {
    "arguments": [
        ("exact", "Arguments: equal (rules applied)"),
        ("subset", "Arguments: at least these"),
        ("ignore", "Arguments: any"),
    ],
    "answers": [
        ("meaning", "Answer: same meaning"),
        ("facts", "Answer: same values"),
        ("strict", "Answer: same text"),
        ("contains", "Answer: contains …"),
        ("regex", "Answer: matches the pattern …"),
        ("json_subset", "Answer: JSON with at least …"),
        ("ai", "Answer: a judge model decides"),
        ("manual", "Answer: a person decides"),
        ("ignore", "Answer: anything"),
    ],
    "orders": [
        ("effects", "Writes in recorded order, reads in any"),
        ("any", "In any order"),
        ("in_order", "In the recorded order"),
    ],
    "histories": [
        ("replayed", "The draft's answers"),
        ("recorded", "The recorded answers"),
    ],
    "missing": MISSING,
    "judges": [
        ("auto", "Only undecided steps, if possible"),
        ("never", "Nothing"),
        ("always", "Only undecided steps; fails without a judge"),
    ],
    "partial": [
        ("", "Are void: they show nothing"),
        ("yes", "Are played without it"),
    ],
    "effects": [
        ("read", "Reads: asking changes nothing"),
        ("write", "Writes: it acts on the world"),
        ("by_call", "Decided by each call: its SQL, shell command or request"),
    ],
    "extra": [("allow", "Are allowed"), ("fail", "Fail the replay")],
    "faults": [*labels.FAULTS.items()],
    "idempotent": [
        ("", "Default: as its definition has it"),
        ("yes", "May be repeated"),
        ("no", "Must not be repeated"),
    ],
    "lost": [("fail", "Default: fails the replay"), ("allow", "Is allowed")],
    "tool_missing": [("", "Default: the test case's setting"), *MISSING],
    "matchers": [
        ("exact", "exact: the same value"),
        ("facts", "facts: the same values, in any words"),
        ("any", "any: anything"),
        ("text", "text: but for case, punctuation"),
        ("number", "number: at most a tolerance apart"),
        ("regex", "regex: matches a pattern"),
        ("one_of", "one_of: one of a JSON list"),
        ("unordered", "unordered: a list in any order"),
        ("ai", "ai: a judge model decides, by the assertion"),
    ],
}
# Kinds of texts, which a tool's row offers besides the matchers.
KINDS = [
    ("value", "value: any difference fails"),
    ("code", "code: as value in a write; in a read a judge decides"),
    ("prose", "prose: a judge decides on other words"),
    ("search", "search: a judge decides on other words"),
]
CHOICES["of_tools"] = [*CHOICES["matchers"], *KINDS]
