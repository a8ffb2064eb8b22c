"""Shows the steps of replays that did not pass, as lines of text. Turns and steps are counted from 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from reprise_formats.controls import visible
from reprise_formats.quotes import ComparedText
from reprise_formats.replay_words import FINDINGS, RESULTS, word

EXCERPT = 2000  # characters

CompareLines = Callable[[Sequence[str], Sequence[str]], Iterator[str]]


def equal_beginning(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the number of lines at the beginning that are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))


def changed_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the lines between the equal beginnings and the equal ends of two texts, in linear time."""
    start = equal_beginning(before, after)
    before, after = before[start:], after[start:]
    end = equal_beginning(before[::-1], after[::-1])
    yield from (f"-{line}" for line in before[: len(before) - end])
    yield from (f"+{line}" for line in after[: len(after) - end])


def shown(value: object) -> str:
    """Return the JSON of a value, cut to `EXCERPT` characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"


def subject_of(replay: Mapping[str, Any]) -> str:
    """Return the noun for what a replay tests: "program", or "draft" for a text."""
    return "program" if (replay.get("candidate") or {}).get("external") else "draft"


def next_step(step: Mapping[str, Any], subject: str) -> str:
    """Return a sentence on what to do about a step that failed or needs review; "" for any other step."""
    is_call = step["kind"] == "tool_call"
    if step["result"] == "needs_review":
        return f"Compare what was recorded with what the {subject} did, and decide."
    if step["result"] != "failed":
        return ""
    if step.get("actual") is None:
        missing = "makes this call" if is_call else "gives an answer"
        return f"Change the {subject} so that it {missing}, or turn the step off in the test case."
    if is_call:
        return f"Change the {subject}. If the call is right, define in the test case how its arguments may differ."
    if step.get("decidedBy") in ("judge", "known"):
        return f"Change the {subject}. If the answer is right, overrule the judge."
    return f"Change the {subject}. If the answer is right, change the check of this step."


def step_lines(
    index: int, number: int, step: Mapping[str, Any], subject: str, compare: CompareLines = changed_lines
) -> Iterator[str]:
    """Yield the result of a step with its reason, what a judge found or how its values differ, and what to do next.

    `subject` is that of the replay. `compare` shows texts of several lines. No text of others begins another line.
    """
    reason = visible(step.get("reason") or "it differs")
    kind = "tool call" if step["kind"] == "tool_call" else step["kind"]
    yield f"  turn {index}, step {number} ({kind}) {word(RESULTS, step['result'])}: {reason}"
    if step.get("findings"):
        yield from _findings(step)
    else:
        for difference in step.get("diff", ()):
            yield from _difference(difference, compare)
    if advice := next_step(step, subject):
        yield f"    {advice}"


def _findings(step: Mapping[str, Any]) -> Iterator[str]:
    """Show what a judge found, with its quotes between » and « in both texts."""
    texts = [ComparedText(step, side) for side in ("expected", "actual")]
    for finding in step["findings"]:
        yield f"    {word(FINDINGS, finding['kind'])}: {visible(finding['why'])}"
        for mark, text, quote in zip("-+", texts, (finding["recorded"], finding["produced"]), strict=True):
            yield f"      {mark} {visible(text.passage(quote).line)}"


def _difference(difference: Mapping[str, Any], compare: CompareLines) -> Iterator[str]:
    """Show texts of several lines by `compare`, other values as two lines; a side without the path is absent."""
    sides = {side: difference[side] for side in ("expected", "actual") if side in difference}
    if len(sides) == 2 and all(isinstance(value, str) for value in sides.values()) and "\n" in "".join(sides.values()):
        expected, actual = (value.splitlines() for value in sides.values())
        yield from (f"    {line}" for line in compare(expected, actual))
        return
    yield f"    at {visible(difference['path']) or 'the answer'}:"
    for mark, side in (("-", "expected"), ("+", "actual")):
        yield f"      {mark} {shown(sides[side]) if side in sides else '(absent)'}"
