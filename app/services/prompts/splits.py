"""The version that a label gives to a caller, where a split gives a share of the callers another one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from reprise_client.splits import position

from app.errors import require
from app.models.labels import Label, Labels


@dataclass(frozen=True, slots=True)
class ByLabel:
    """A version that is asked for by its label. At a split `key` decides, by default for the label's own version."""

    label: str
    key: str | None = None


def commit_hash_of(labels: Labels, by: ByLabel) -> str:
    """Return the hash of the version that a caller gets; `NotFound` for a label that the prompt does not have."""
    return chosen(find_label(labels, by.label), by.key)


def find_label(labels: Labels, name: str) -> Label:
    return require(labels.get(name), "The prompt has no such label.")


def labels_by_hash(labels: Labels) -> dict[str, list[str]]:
    """Return {commit hash: names of the labels that point to it}, without the versions of splits."""
    found: dict[str, list[str]] = defaultdict(list)
    for label in labels.values():
        found[label.commit_hash].append(label.name)
    return found


def chosen(label: Label, key: str | None) -> str:
    """Return the hash that the label gives to a key, the same one each time; a share that grows keeps its keys."""
    split = label.split
    return split.commit_hash if split and key and position(label.name, key) < split.share else label.commit_hash
