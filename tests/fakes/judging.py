"""Replies of a judge, and a judge that a test scripts by the parts of its question."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.fakes.wire import Reply

_BEGIN = re.compile(r"^\[begin (.+) (\S+)\]\n", re.MULTILINE)


def finding(why: str = "It does not.", **more: Any) -> dict[str, Any]:
    return {"kind": "other", "recorded": "", "produced": "", "matters": True, "why": why} | more


def judged(verdict: str, *steps: int, findings: list[dict[str, Any]] | None = None) -> Reply:
    """Return the reply with one verdict on all `steps` of a turn, by default on step 0."""
    given = findings if findings is not None else [finding()] if verdict == "failed" else []
    replies = [{"step": step, "findings": given, "verdict": verdict} for step in steps or (0,)]
    return Reply(text=json.dumps({"steps": replies}))


def is_question(body: dict[str, Any]) -> bool:
    """Return whether a request of the wire of OpenAI asks a judge."""
    return str(body["messages"][0]["content"]).startswith("You judge")


def parts_of(question: str) -> dict[str, str]:
    """Return the text of each part of a question, by its name, such as `produced 3`."""
    parts, place = dict[str, str](), 0
    while begin := _BEGIN.search(question, place):
        # A search for a text is many times as fast as a pattern that tries each character for the end.
        end = question.find(f"\n[end {begin[1]} {begin[2]}]", begin.end())
        if end >= 0:
            parts[begin[1]] = question[begin.end() : end]
        place = max(begin.end(), end)
    return parts


def judging(decide: Callable[[str, str], str]) -> Callable[[dict[str, Any]], Reply]:
    """Return a judge that decides each step by its recorded and its produced text."""

    def reply(body: dict[str, Any]) -> Reply:
        parts = parts_of(body["messages"][-1]["content"])
        steps = sorted(int(name.split()[1]) for name in parts if name.startswith("produced "))
        verdicts = [(step, decide(parts[f"recorded {step}"], parts[f"produced {step}"])) for step in steps]
        replies = [
            {"step": step, "findings": [finding()] if verdict == "failed" else [], "verdict": verdict}
            for step, verdict in verdicts
        ]
        return Reply(text=json.dumps({"steps": replies}))

    return reply
