"""The prompts that accept spans, cached for some seconds because every batch asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from app.database.transactions import Database
from app.errors import require
from app.models import prompts

# Seconds. An erased prompt may still accept spans for this time.
REMEMBERED_S = 5.0


@dataclass(slots=True)
class KnownPrompts:
    """A cache of the ids of prompts by project, which is emptied every `REMEMBERED_S`."""

    database: Database
    monotonic: Callable[[], float] = time.monotonic
    _known: dict[int, set[int]] = field(default_factory=dict, init=False)
    _expires: float = field(default=0.0, init=False)

    def among(self, project_id: int, prompt_ids: set[int]) -> set[int]:
        """Return the project's cached prompts, including every one of `prompt_ids` that belongs to the project."""
        now = self.monotonic()
        if now > self._expires:
            self._known, self._expires = {}, now + REMEMBERED_S
        known = self._known.setdefault(project_id, set())
        if unknown := prompt_ids - known:
            with self.database.read() as connection:
                known |= prompts.known_prompts(connection, project_id=project_id, prompt_ids=unknown)
        return known

    def of_names(self, project_id: int, names: set[str]) -> dict[str, list[int]]:
        """Return the project's prompts with these names by name, at most two of each. They are not cached."""
        if not names:
            return {}
        with self.database.read() as connection:
            return prompts.ids_by_name(connection, project_id=project_id, names=names)

    def check(self, project_id: int, prompt_id: int) -> None:
        """Raise `NotFound` unless the prompt belongs to the project and accepts spans."""
        require(self.among(project_id, {prompt_id}) & {prompt_id} or None, prompts.NO_PROMPT)
