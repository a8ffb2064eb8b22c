"""The limits of a file in YAML or CSV, which is in memory as a whole."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TextLimits:
    """The limits of a file: bytes in YAML and in CSV, and those of a YAML document.

    `values` counts the names, lists, objects and aliases of a document, too: PyYAML needs 70 microseconds and 1 KB of
    memory for each. `expanded` counts characters and values with each alias replaced by what it refers to.
    """

    yaml_bytes: int = 16 * MIB
    csv_bytes: int = 16 * MIB
    values: int = 1_000_000
    expanded: int = 32_000_000


WIDEST = TextLimits()
"""The limits of the command, which runs where the files are."""
