"""Which prompts take spans, remembered for some seconds: ingest asks for every batch."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.db import Database
from app.models import prompts

# An erased prompt takes no more spans after this, and what is under way.
REMEMBERED_S = 5.0


class KnownPrompts:
    def __init__(self, database: Database, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._known: dict[int, set[int]] = {}
        self._since = monotonic()

    def among(self, project_id: int, named: set[int]) -> set[int]:
        """The project's prompts that are known, those of `named` that are its prompts among them."""
        if self._monotonic() - self._since > REMEMBERED_S:
            self._known, self._since = {}, self._monotonic()
        known = self._known.setdefault(project_id, set())
        if unknown := named - known:
            with self._database.read() as connection:
                known |= prompts.known_prompts(connection, project_id=project_id, prompt_ids=unknown)
        return known
