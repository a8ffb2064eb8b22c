"""What went wrong in a replay, in words: the first step that did not pass, and what a judge found in a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprise_formats.quotes import ComparedText, Passage, differing_passages
from reprise_formats.replay_steps import next_step

from app.web.presenters.replay_parts import places_of

FIRST_FINDINGS = 3
"""Findings at the top of the page; the step has all."""
_OUTCOMES = {"failed": "It failed", "needs_review": "A person must decide"}


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding of a judge, with its quotes in both texts. `finding` is its JSON."""

    finding: Mapping[str, Any]
    recorded: Passage
    produced: Passage


@dataclass(frozen=True, slots=True)
class Trouble:
    """The first step that made a replay fail, or that needs review. `title`, `reason` and `advice` are sentences.

    `texts` are a recorded and a produced answer, each with what differs, where no finding quotes them.
    """

    anchor: str
    title: str
    reason: str
    findings: list[ShownFinding]
    advice: str
    texts: tuple[Passage, Passage] | None = None


def shown_findings(step: Mapping[str, Any], *, matter: bool = False) -> list[ShownFinding]:
    """Return the findings of a step, given as JSON. With `matter`, only the reasons for its failure, if it has any."""
    findings = step.get("findings", ())
    reasons = [finding for finding in findings if finding["matters"]] if matter else []
    if not findings:
        return []
    recorded, produced = (ComparedText(step, side) for side in ("expected", "actual"))
    return [
        ShownFinding(finding, recorded.passage(finding["recorded"]), produced.passage(finding["produced"]))
        for finding in reasons or findings
    ]


def troubled_turns(result: Mapping[str, Any]) -> list[int]:
    """Return the numbers, from 1, of the turns with a violation or a step that did not pass.

    `result` is the JSON of a `ReplayResult`, or empty.
    """
    return [
        number
        for number, turn in enumerate(result.get("turns", ()), 1)
        if turn.get("violations") or any(step["result"] in _OUTCOMES for step in turn["steps"])
    ]


def first_trouble(result: Mapping[str, Any], subject: str = "draft") -> Trouble | None:
    """Return the first step to look at in a result, the JSON of a `ReplayResult` or empty; None if all passed.

    `subject` is the noun for what was tested, as of `replay_steps.subject_of`.
    """
    wanted = result.get("status")
    if wanted not in _OUTCOMES:
        return None
    for place in places_of(result.get("turns", ())):
        if place.number is not None and place.step["result"] == wanted:
            step, turn = place.step, place.turn + 1
            name = f"the call of {step['expected']['name']}" if step["kind"] == "tool_call" else "the answer"
            title = f"{_OUTCOMES[wanted]}: {name} in turn {turn}"
            findings = shown_findings(step, matter=True)
            texts = None if findings else _differing_answers(step)
            return Trouble(place.anchor, title, step.get("reason") or "", findings, next_step(step, subject), texts)
    return None


def _differing_answers(step: Mapping[str, Any]) -> tuple[Passage, Passage] | None:
    """Return the two texts of an answer, of which one is expected, or None where one of them is no text."""
    recorded, produced = step.get("expected"), step.get("actual")
    if step["kind"] != "answer" or not isinstance(recorded, str) or not isinstance(produced, str):
        return None
    return differing_passages(recorded, produced)
