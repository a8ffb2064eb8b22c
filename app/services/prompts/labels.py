"""Labels of prompts: points them to versions, splits them, and requires passed experiments for guarded ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from reprise_formats.formats import percent
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict, Forbidden, Invalid
from app.models import audit_log, labels, prompts
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.labels import EvidenceRule, Label, Split
from app.models.prompts import PromptRow
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.redis_store.epochs import Epochs
from app.services.prompts.label_guard import check_guard, check_rights, evidence_words, require_experiment
from app.services.prompts.reader import PromptReader
from app.services.prompts.splits import require_label
from app.timestamps import Now

# A prompt is always read with all of its labels.
LABELS_MAX = 100
EVIDENCE_CASES_MAX = 5_000
"""Test cases that the labels of a prompt name together as their evidence."""


@dataclass(frozen=True, slots=True)
class LabelMove:
    """A version to point a label to; with `share` only this share of the keys gets it.

    `guarded` None keeps the guard. `evidence` UNSET keeps the evidence that the guard requires; None requires the
    default evidence. `override` is the reason for moving a guarded label without an experiment.
    """

    commit_hash: str
    share: float | None = None
    experiment_id: int | None = None
    guarded: bool | None = None
    override: str | None = None
    evidence: EvidenceRule | UnsetType | None = UNSET

    def evidence_after(self, old: EvidenceRule | None) -> EvidenceRule | None:
        return old if isinstance(self.evidence, UnsetType) else self.evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelService:
    """Labels of prompts; `may_override` is true for an actor with the rights of an admin."""

    database: Database
    now: Now
    reader: PromptReader
    epochs: Epochs

    def list(self, *, project_id: int, prompt_id: int) -> list[Label]:
        """Return the labels, ordered by name."""
        with self.database.read() as connection:
            return [*self.reader.head(connection, project_id=project_id, prompt_id=prompt_id).labels.values()]

    def get(self, *, project_id: int, prompt_id: int, name: str) -> Label:
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
        return require_label(head.labels, name)

    def move(
        self,
        *,
        project_id: int,
        prompt_id: int,
        name: str,
        move: LabelMove,
        may_override: bool = False,
        actor: Actor = SYSTEM,
    ) -> Label:
        """Create or move the label; a move without a change is not recorded.

        Raises `NotFound` for a version or an experiment of another prompt, `Conflict` for a split of a new label and
        for a guarded label without a passed experiment, and `Forbidden` for an actor who may not override the guard.
        """

        def work(connection: Connection) -> Label:
            prompt = prompts.require_prompt(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            self.reader.pinned(connection, prompt, move.commit_hash)
            old, now = prompt.labels.get(name), self.now()
            new = _moved(prompt, name, move, now)
            if not may_override:
                check_rights(old, new, has_reason=move.override is not None)
            if move.experiment_id is not None:
                require_experiment(connection, prompt, move.experiment_id)
            if old is not None and old.guarded and move.guarded is not False and move.override is None:
                check_guard(connection, prompt, old, new, move.experiment_id, now)
            if old is not None and new == replace(old, updated_at=now):
                return old
            _check_cases(prompt, old, new)
            prompts.put_labels(connection, prompt_id=prompt_id, labels={**prompt.labels, name: new})
            labels.add_version(connection, prompt_id=prompt_id, label=new)
            _note(connection, prompt, old, new, move, actor)
            return new

        label = self.database.retrying(work)
        self.epochs.end(project_id)
        return label

    def delete(
        self, *, project_id: int, prompt_id: int, name: str, may_override: bool = False, actor: Actor = SYSTEM
    ) -> None:
        """Delete the label; raises `Forbidden` if it is guarded and the actor may not override the guard."""

        def work(connection: Connection) -> None:
            prompt = prompts.require_prompt(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            old = require_label(prompt.labels, name)
            if old.guarded and not may_override:
                raise Forbidden(f"The label {name} is guarded: deleting it requires the scope admin.")
            left = {other: label for other, label in prompt.labels.items() if other != name}
            prompts.put_labels(connection, prompt_id=prompt_id, labels=left)
            labels.forget_versions(connection, prompt_id=prompt_id, label=name)
            action, details = Action.LABEL_DELETED, {"label": name, "old": old.commit_hash[:8]}
            audit_log.note(connection, self.now(), actor, action, prompt.name, details, project_id=project_id)

        self.database.retrying(work)
        self.epochs.end(project_id)


def _moved(prompt: PromptRow, name: str, move: LabelMove, now: datetime) -> Label:
    """Return the label after the move."""
    old = prompt.labels.get(name)
    if old is None:
        if move.share is not None:
            raise Conflict(f"The label {name} points to no version yet: send commitHash without share first.")
        if len(prompt.labels) >= LABELS_MAX:
            raise Invalid(f"label: A prompt has at most {LABELS_MAX} labels; delete one first.")
        evidence = move.evidence_after(None)
        return Label(name, move.commit_hash, now, guarded=bool(move.guarded), evidence=evidence)
    guarded = old.guarded if move.guarded is None else move.guarded
    kept = replace(old, updated_at=now, guarded=guarded, evidence=move.evidence_after(old.evidence))
    if move.share is not None:
        return replace(kept, split=Split(move.commit_hash, move.share))
    previous = old.previous if move.commit_hash == old.commit_hash else old.commit_hash
    return replace(kept, commit_hash=move.commit_hash, split=None, previous=previous)


def _check_cases(prompt: PromptRow, old: Label | None, new: Label) -> None:
    """Raise `Invalid` if the label names further test cases, and those of all labels are too many."""
    others = sum(label.case_count for name, label in prompt.labels.items() if name != new.name)
    if new.case_count > (old.case_count if old else 0) and others + new.case_count > EVIDENCE_CASES_MAX:
        raise Invalid(
            f"evidence.testCaseIds: The labels of a prompt name at most {EVIDENCE_CASES_MAX:,} test cases together."
        )


def _note(
    connection: Connection, prompt: PromptRow, old: Label | None, new: Label, move: LabelMove, actor: Actor
) -> None:
    """Write the move to the audit log and, if keys get another version, as an event for webhooks."""
    moved, now = old is None or _target(old) != _target(new), new.updated_at
    action, details = Action.LABEL_MOVED if moved else Action.LABEL_CHANGED, _details(old, new, move)
    audit_log.note(connection, now, actor, action, prompt.name, details, project_id=prompt.project_id)
    if moved:
        key = {"project_id": prompt.project_id, "prompt_id": prompt.id}
        add_event(connection, now, WebhookEvent.LABEL_MOVED, _event(prompt.project_id, new), **key)


def _target(label: Label) -> tuple[str, Split | None]:
    return label.commit_hash, label.split


def _details(old: Label | None, new: Label, move: LabelMove) -> dict[str, Any]:
    """Return the details of a move for the audit log."""
    details: dict[str, Any] = {"label": new.name, "old": _words(old), "new": _words(new)}
    if new.guarded != (old is not None and old.guarded):
        details["guarded"] = new.guarded
    if new.evidence != (old.evidence if old else None):
        details["evidence"] = evidence_words(new.required or EvidenceRule())
    if move.experiment_id is not None:
        details["experiment"] = move.experiment_id
    return details | ({"reason": move.override} if move.override is not None else {})


def _event(project_id: int, label: Label) -> dict[str, Any]:
    """Return the event of a move for webhooks."""
    split = label.split and {"commitHash": label.split.commit_hash, "share": label.split.share}
    moved = {"label": label.name, "commitHash": label.commit_hash, "previousCommitHash": label.previous, "split": split}
    return {"projectId": project_id, **moved}


def _words(label: Label | None) -> str:
    """Return the versions of a label in words: "4f53a0c1, 9be2d7aa for 10 % of callers"."""
    if label is None:
        return "nothing"
    split = f", {label.split.commit_hash[:8]} for {percent(label.split.share)} of callers" if label.split else ""
    return label.commit_hash[:8] + split
