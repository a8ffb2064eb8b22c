"""Renderings of one version, which gives the same for the same selections each time."""

from __future__ import annotations

from reprise_formats.placeholders import Rendering

Selections = tuple[tuple[str, str], ...]

# Of a version: characters of renderings and selections, and so many more for what surrounds each rendering.
CHARACTERS_MAX = 500_000
OVERHEAD = 500


class Renderings:
    """Forgets all when there are too many. Each step is atomic, so that threads need no lock."""

    def __init__(self) -> None:
        self._made: dict[Selections, Rendering] = {}
        self._weight = 0

    def get(self, selections: Selections) -> Rendering | None:
        return self._made.get(selections)

    def put(self, selections: Selections, rendering: Rendering) -> None:
        """Remember a rendering; one of more than `CHARACTERS_MAX` is not remembered."""
        weight = OVERHEAD + len(rendering.instruction) + sum(len(key) + len(name) for key, name in selections)
        if self._weight + weight > CHARACTERS_MAX:
            self._made, self._weight = {}, 0
        if weight <= CHARACTERS_MAX:
            self._made[selections] = rendering
            self._weight += weight
