"""Labels of prompts: names, such as `production`, that point to a version and that callers use instead of its hash.

The labels of a prompt are a column of its row, which each use of the prompt reads anyway. The table has the versions
that a label has pointed to.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy import Column, Connection, ForeignKey, UniqueConstraint, exists, select
from sqlalchemy.engine import Dialect

from app.experiments.statistics import DETECT, default_repeats
from app.experiments.types import MIN_SIGHTED
from app.models import queries
from app.models.base import BigInt, Json, Timestamp, exact, new_table
from app.values.structs import decoder

LABEL_NAME_MAX = 64


class Split(msgspec.Struct, frozen=True):
    """The version that a share of the keys gets; `share` is above 0 and below 1."""

    commit_hash: str
    share: float


class EvidenceRule(msgspec.Struct, frozen=True):
    """The least that an experiment must cover to move a guarded label.

    It has the test cases `test_case_ids`, or all current ones of the prompt, each replayed at least `repeats` times on
    each side. Its `detect` is at most, and its `alpha` at least, the value here. The share `min_sighted` of its test
    cases can show a drop. With `watch_days`, a watch of the prompt has ended in so many days and shows no drop.
    """

    repeats: int = default_repeats(DETECT)[0]
    detect: float = DETECT
    alpha: float = 0.05
    min_sighted: float = MIN_SIGHTED
    test_case_ids: tuple[int, ...] | None = None
    watch_days: int | None = None


class Label(msgspec.Struct, frozen=True):
    """A label and the version that it points to. `previous` is the hash that it pointed to before, None at first.

    A guarded label moves only to a version that passed an experiment. `evidence` None requires the default evidence.
    """

    name: str
    commit_hash: str
    updated_at: datetime
    guarded: bool = False
    split: Split | None = None
    previous: str | None = None
    evidence: EvidenceRule | None = None

    @property
    def commit_hashes(self) -> tuple[str, ...]:
        """The hashes of the versions that callers get."""
        return (self.commit_hash, *([self.split.commit_hash] if self.split else []))

    @property
    def case_count(self) -> int:
        """The number of test cases that the evidence names."""
        return len((self.evidence and self.evidence.test_case_ids) or ())

    @property
    def required(self) -> EvidenceRule | None:
        """The evidence that a move requires; None for a label with neither a guard nor a rule."""
        return self.evidence or (EvidenceRule() if self.guarded else None)


Labels = Mapping[str, Label]
_decode = decoder(list[Label])


class LabelsJson(Json):
    """Labels by their names, stored as a list in the order of the names; no labels are stored as NULL."""

    cache_ok = True

    def process_bind_param(self, value: Labels | None, dialect: Dialect) -> str | None:
        return super().process_bind_param([value[name] for name in sorted(value)] if value else None, dialect)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Labels:
        return {} if value is None else {label.name: label for label in _decode(value)}


label_versions = new_table(
    "label_versions",
    Column("prompt_id", BigInt, ForeignKey("prompts.id"), nullable=False),
    Column("label", exact(LABEL_NAME_MAX), nullable=False),
    Column("commit_hash", exact(64), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("prompt_id", "label", "commit_hash"),
)


def add_version(connection: Connection, *, prompt_id: int, label: Label) -> None:
    """Store that the label has pointed to its version."""
    key = {"prompt_id": prompt_id, "label": label.name, "commit_hash": label.commit_hash}
    queries.put_row(connection, label_versions, key=key, new={"created_at": label.updated_at})


def has_pointed_to(connection: Connection, *, prompt_id: int, label: str, commit_hash: str) -> bool:
    """Return True if the label pointed to the version at any time since it was made."""
    c = label_versions.c
    condition = exists().where(c.prompt_id == prompt_id, c.label == label, c.commit_hash == commit_hash)
    return bool(connection.scalar(select(condition)))


def forget_versions(connection: Connection, *, prompt_id: int, label: str) -> None:
    """Remove the versions of a deleted label, so that a new label of the same name starts without any."""
    queries.delete_rows(connection, label_versions, prompt_id=prompt_id, label=label)
