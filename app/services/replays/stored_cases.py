"""Test cases as they are stored: their columns, and names made of the first line of a text."""

from __future__ import annotations

from typing import Any

import orjson

from app.errors import Invalid
from app.replay.case_types import TestCase
from app.replay.documents import dump
from app.services.replays.frozen import fingerprint_of
from app.suites.cases import features_of

NAME_MAX = 128
# A replay's result repeats the test case two or three times, and must fit into one statement.
DOCUMENT_BYTES = 4 * 1024 * 1024


def columns(case: TestCase) -> dict[str, Any]:
    """Return the columns of the test case; raises `Invalid` if it is too large for a replay and its report."""
    try:
        document = dump(case)
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise Invalid(f"turns: Can't be stored as JSON: {error}") from error
    packed = orjson.dumps(document)
    if len(packed) > DOCUMENT_BYTES:
        raise Invalid(f"turns: The test case has {len(packed)} bytes as JSON; the limit is {DOCUMENT_BYTES}.")
    steps = sum(len(turn.steps) for turn in case.played_turns)
    variants = document.get("variants")
    digest = fingerprint_of(packed)
    return {
        "document": document,
        "steps": steps,
        "variants": variants,
        "fingerprint": digest,
        "features": features_of(case, digest).packed(),
    }


def title(text: str | None, otherwise: str) -> str:
    """Return the first line that is not blank, cut to the length of a name."""
    line = next((line.strip() for line in (text or "").splitlines() if line.strip()), otherwise)
    return line if len(line) <= NAME_MAX else line[: NAME_MAX - 1] + "…"
