"""Common parts of lists that can be searched and sorted: ranges in queries, and the number of sorted entries."""

from __future__ import annotations

from typing import Any

from app.models.scores import ScoreRange
from app.models.session_list import Range
from app.pagination import Sorted
from app.schemas.answer import AnswerSchema, fields_of


class SortedEntries(AnswerSchema):
    """The number of matching entries that were sorted, the newest ones. There are more unless this is `complete`."""

    sorted = fields_of(Sorted, "entries", "complete")


def with_ranges(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the loaded fields. A `Range` replaces `min_` and `max_` of each name, and of the score."""
    bounds = {name: (data.pop(f"min_{name}", None), data.pop(f"max_{name}", None)) for name in ("score", *names)}
    of_score, score = bounds.pop("score"), data.pop("score", None)
    ranges = {name: Range(*pair) for name, pair in bounds.items()}
    return data | ranges | {"score": ScoreRange(score, *of_score) if score else None}
