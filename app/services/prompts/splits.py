"""Chooses a label's version for a caller; a split gives another version to a share of the callers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from reprise_formats.splits import position

from app.errors import require
from app.models.labels import Label, Labels


@dataclass(frozen=True, slots=True)
class ByLabel:
    """A version requested by its label; at a split `key` decides, without it the label's main version is used."""

    label: str
    key: str | None = None


def commit_hash_of(labels: Labels, by: ByLabel) -> str:
    """Return the hash of the version for a caller; `NotFound` if the prompt does not have the label."""
    return chosen(require_label(labels, by.label), by.key)


def require_label(labels: Labels, name: str) -> Label:
    """Return the label with this name, or raise `NotFound`."""
    return require(labels.get(name), "The prompt has no such label.")


def labels_by_hash(labels: Labels) -> dict[str, list[str]]:
    """Return {commit hash: names of the labels that point to it}, without the versions of splits."""
    names: dict[str, list[str]] = defaultdict(list)
    for label in labels.values():
        names[label.commit_hash].append(label.name)
    return names


def chosen(label: Label, key: str | None) -> str:
    """Return the hash for a key, the same one each time; a growing share keeps its keys."""
    split = label.split
    return split.commit_hash if split and key and position(label.name, key) < split.share else label.commit_hash
