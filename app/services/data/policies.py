"""Data policies of projects, which set retention and masking: read, and replaced as a whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from app.db import Database
from app.encryption import NO_KEY
from app.errors import Invalid
from app.models import audit_log, data_policies, organizations
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.data_policies import DataPolicy
from app.otlp.masking import Rule, checked
from app.services.data.masking import MaskingRules
from app.timestamps import Now


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPolicyService:
    database: Database
    now: Now
    rules: MaskingRules
    can_encrypt: bool

    def get(self, *, project_id: int) -> DataPolicy:
        with self.database.read() as connection:
            return data_policies.find_policy(connection, project_id=project_id)

    def put(self, *, project_id: int, policy: DataPolicy, actor: Actor = SYSTEM) -> None:
        """Replace the policy; rows that are stored already are not masked. `Invalid` for a rule that can't be used."""
        if checked([Rule(**rule) for rule in policy.masking]) and not self.can_encrypt:
            raise Invalid(f"masking: {NO_KEY}")
        with self.database.write() as connection:
            project = organizations.require_project(connection, project_id)
            data_policies.put_policy(connection, project_id=project_id, policy=policy)
            audit_log.note(
                connection,
                self.now(),
                actor,
                Action.DATA_POLICY_CHANGED,
                project.name,
                project_id=project_id,
                details=asdict(policy),
            )
        self.rules.forget(project_id)
