"""Why the test cases of an experiment failed: the first failed steps of some failing replays, each reason once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reprise_formats.experiment_summary import Json, failing

from app.web.presenters.replay_findings import Trouble, first_trouble

CASES_MAX, REPLAYS_MAX, REASONS_MAX = 5, 6, 3
"""The most test cases with reasons, failing replays that are read of each, and reasons shown of each."""
RESULT_BYTES = 4 * 1024 * 1024
"""No further result is read after so many bytes of results."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason that some of the `read` failing replays of a test case have; the first of them is `replay_id`."""

    trouble: Trouble
    replay_id: int
    count: int
    read: int


def replays_to_read(cases: Iterable[Json]) -> list[int]:
    """Return the ids of the replays with the reasons of the first failing test cases."""
    return [replay_id for replay_ids in _failing(cases).values() for replay_id in replay_ids]


def failures_of(
    cases: Iterable[Json], results: Mapping[int, Mapping[str, Any]]
) -> dict[tuple[int, str | None], list[Failure]]:
    """Return the most frequent reasons of the first failing test cases, by test case id and variant."""
    return {key: _failures(replay_ids, results) for key, replay_ids in _failing(cases).items()}


def _failing(cases: Iterable[Json]) -> dict[tuple[int, str | None], list[int]]:
    ids = {(case["testCaseId"], case.get("variant")): [*failing(case["candidate"])[:REPLAYS_MAX]] for case in cases}
    return dict([(key, replay_ids) for key, replay_ids in ids.items() if replay_ids][:CASES_MAX])


def _failures(replay_ids: Iterable[int], results: Mapping[int, Mapping[str, Any]]) -> list[Failure]:
    by_reason: dict[tuple[str, str], list[tuple[int, Trouble]]] = defaultdict(list)
    read = 0
    for replay_id in replay_ids:
        if trouble := first_trouble(results.get(replay_id, {})):
            by_reason[trouble.title, trouble.reason].append((replay_id, trouble))
            read += 1
    ranked = sorted(by_reason.values(), key=len, reverse=True)[:REASONS_MAX]
    return [Failure(replays[0][1], replays[0][0], len(replays), read) for replays in ranked]
