"""Shows what went wrong in the failing replays of an experiment, as lines of text and as Markdown.

`replays` are answers of `GET /api/v1/replays/{id}`, or stored results, by the replays' ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise_formats.experiment_comment import inert
from reprise_formats.experiment_summary import failing, plain, ranked
from reprise_formats.replay_steps import step_lines, subject_of

Replays = Mapping[int, Mapping[str, Any]]
FAILURES_MAX = 5  # replays that are shown, one of a test case
LINES_MAX = 12  # of a replay
LINE_MAX = 400  # characters
MARKDOWN_MAX = 4_000  # bytes


def first_failing(experiment: Mapping[str, Any]) -> list[int]:
    """Return the ids of the replays to show: the first failing one of each of some test cases."""
    first = [failed[0] for case in ranked(experiment) if (failed := failing(case["candidate"]))]
    return first[:FAILURES_MAX]


def failure_lines(replays: Replays, case: Mapping[str, Any]) -> Iterator[str]:
    """Yield what went wrong in the replay of a test case: its first step that failed, else the first one to review."""
    failed = failing(case["candidate"])
    replay = replays.get(failed[0]) if failed else None
    steps = [
        (turn, number, step)
        for turn, played in enumerate((replay or {}).get("turns", ()), 1)
        for number, step in enumerate(played["steps"], 1)
    ]
    for result in ("failed", "needs_review"):
        for turn, number, step in steps:
            if step["result"] == result:
                lines = list(step_lines(turn, number, step, subject_of(replay or {})))
                yield from (line[:LINE_MAX] for line in lines[:LINES_MAX])
                return


def failures_markdown(replays: Replays, experiment: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a part of a comment, in which texts of others are no markup."""
    room, title = MARKDOWN_MAX, "\n### What went wrong\n"
    for case in ranked(experiment):
        for n, line in enumerate(failure_lines(replays, case)):
            shown = f"- {inert(case['name'])}: {inert(plain(line))}" if n == 0 else f"  - {inert(plain(line))}"
            room -= len(shown.encode("utf-8", "surrogatepass")) + 1
            if room < 0:
                return
            yield from (title, shown) if title else (shown,)
            title = ""
