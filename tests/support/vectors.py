"""The renderings that the server and both clients must make alike: tests/data/render/vectors.json.

Each has what it is `about`. One that is not `stored` can't be made a prompt over the API, which refuses NUL and
definitions that contradict themselves; a program can render it all the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "render" / "vectors.json").read_text())


def about(vector: dict[str, Any]) -> str:
    """The name of the vector's test."""
    name: str = vector["about"]
    return name


def results(vector: dict[str, Any]) -> list[Any]:
    """Return the rendering of a vector; the keys of `resolved` are in order."""
    return [vector["instruction"], list(vector["resolved"].items()), vector["ignored"], vector["undefined"]]
