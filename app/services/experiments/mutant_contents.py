"""The frozen contents of mutants: each is the content of the guard map's text, with the mutant's text instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection

from app.models import prompt_versions
from app.models.prompt_versions import SnapshotRow, TextChange
from app.services.experiments.guard_plan import FIRST_MUTANT, MapPlan
from app.services.experiments.plan import BASELINE
from app.services.language_models.service import ModelService
from app.services.prompts.content import content_hash, content_of_snapshot
from app.services.prompts.reader import PromptReader


class _Changes(NamedTuple):
    """The frozen content of the text of a map, and the fingerprints of its mutants by arm."""

    text: SnapshotRow
    fingerprints: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantContents:
    """Stores each mutant as a change of its map's text, because the text may be a thousand times as long."""

    models: ModelService
    reader: PromptReader

    def known(self, connection: Connection, plan: MapPlan, arms: Collection[int]) -> dict[int, int]:
        """Return the ids of the frozen contents that are stored already, by arm."""
        fingerprints = self._changes(connection, plan, arms).fingerprints
        ids = prompt_versions.snapshot_ids(
            connection, prompt_id=plan.row.prompt_id, fingerprints=set(fingerprints.values())
        )
        known = {arm: ids[fingerprint] for arm, fingerprint in fingerprints.items() if fingerprint in ids}
        return known | {arm: plan.snapshots[arm] for arm in arms if arm == BASELINE}

    def put(self, connection: Connection, plan: MapPlan, arms: Collection[int]) -> dict[int, int]:
        """Store the contents that are not stored yet; returns the ids of all of them, by arm."""
        snapshots = {arm: plan.snapshots[arm] for arm in arms if arm == BASELINE}
        text, fingerprints = self._changes(connection, plan, arms)
        for arm, fingerprint in fingerprints.items():
            mutant = plan.mutants[arm - FIRST_MUTANT]
            change = TextChange(text.fingerprint, mutant.begin, mutant.end, mutant.by)
            snapshots[arm] = prompt_versions.put_change(connection, base=text, change=change, fingerprint=fingerprint)
        return snapshots

    def _changes(self, connection: Connection, plan: MapPlan, arms: Collection[int]) -> _Changes:
        """Return the text of the map, and the fingerprints of its mutants by arm."""
        text = prompt_versions.get_snapshot(connection, snapshot_id=plan.row.candidate_snapshot_id)
        mutants = {arm: plan.mutants[arm - FIRST_MUTANT].mutant for arm in sorted(arms) if arm != BASELINE}
        if not mutants:
            return _Changes(text, {})
        head = self.reader.head(connection, project_id=plan.row.project_id, prompt_id=plan.row.prompt_id)
        model = self.models.read(connection, organization_id=head.organization_id, model_id=text.language_model_id)
        content = content_of_snapshot(head, text, model)
        return _Changes(
            text,
            {arm: content_hash(replace(content, value=mutant.applied(text.value))) for arm, mutant in mutants.items()},
        )
