"""Steps of sessions as expectations write them."""

from __future__ import annotations

from typing import Any

MEASURES = frozenset({"usage", "cost", "unpricedModels", "durationMs", "timeToFirstTokenMs"})


def without_measures(step: dict[str, Any]) -> dict[str, Any]:
    """A step with its texts and actions, without its time and cost."""
    return {key: value for key, value in step.items() if key not in MEASURES}
