"""The choices in the form of a test case, each as (value, label)."""

from __future__ import annotations

from app.web import labels

MISSING = [
    ("error", "Return an error"),
    ("stop", "Stop the replay"),
    ("nearest", "For reads, the next recorded result"),
    ("static", "The result set in its rules"),
    ("simulate", "For reads, a model plays the tool"),
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
        ("write", "Writes: it changes something"),
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
        ("exact", "The same value"),
        ("facts", "The same values, in any words"),
        ("any", "Anything"),
        ("text", "The same text but for case, punctuation"),
        ("number", "A number, at most a tolerance apart"),
        ("regex", "Matches a pattern"),
        ("one_of", "One of a JSON list"),
        ("unordered", "A list in any order"),
        ("ai", "A judge model decides, by the assertion"),
    ],
}
# Kinds of texts, which a tool's row offers besides the matchers.
KINDS = [
    ("value", "A value: any difference fails"),
    ("code", "Code: as a value in a write; in a read a judge decides"),
    ("prose", "Prose: a judge decides on other words"),
    ("search", "A search: a judge decides on other words"),
]
CHOICES["of_tools"] = [*CHOICES["matchers"], *KINDS]


def in_sentence(choices: list[tuple[str, str]], value: str) -> str:
    """Return the label of a choice as it reads within a sentence; the value itself if it is none of them."""
    label = dict(choices).get(value, value)
    return label[:1].lower() + label[1:]
