"""The fields of answers that list rows in an order that no index serves."""

from __future__ import annotations

from app.cursors import Sorted
from app.schemas.answer import Answer, fields_of


class SortedEntries(Answer):
    """The number of the newest entries that match and were sorted; there are more unless that is `complete`."""

    sorted = fields_of(Sorted, "entries", "complete")
