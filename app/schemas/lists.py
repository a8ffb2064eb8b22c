"""The common parts of lists that are searched and sorted: the ranges of queries, and how much an answer sorted."""

from __future__ import annotations

from typing import Any

from app.cursors import Sorted
from app.models.scores import ScoreRange
from app.models.session_list import Range
from app.schemas.answer import Answer, fields_of


class SortedEntries(Answer):
    """The number of the newest entries that match and were sorted; there are more unless that is `complete`."""

    sorted = fields_of(Sorted, "entries", "complete")


def with_ranges(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the loaded fields with a `Range` in the place of `min_` and `max_` of each name, and of the score's."""
    bounds = {name: (data.pop(f"min_{name}", None), data.pop(f"max_{name}", None)) for name in ("score", *names)}
    of_score, score = bounds.pop("score"), data.pop("score", None)
    ranges = {name: Range(*each) for name, each in bounds.items()}
    return data | ranges | {"score": ScoreRange(score, *of_score) if score else None}
