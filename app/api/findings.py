"""Findings: what went wrong in the sessions of a prompt, and who works on it."""

from __future__ import annotations

from typing import Any

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.schemas import findings as schemas
from app.services.suites.prompt_findings import FindingList, FindingView


class PromptFindings(Resource, GET="read"):
    @operation(
        "What went wrong in the sessions of a prompt, grouped",
        query=schemas.FindingsQuerySchema,
        answers={200: schemas.PromptFindingsSchema},
    )
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> FindingList:
        return self.services.findings.list(project_id=key.project_id, prompt_id=prompt_id, **command)


class FindingResource(Resource, GET="read", PATCH="write"):
    @operation("One finding with its sessions and test cases", answers={200: schemas.PromptFindingDetailSchema})
    def on_get(self, key: ApiKey, prompt_id: int, finding_id: str) -> FindingView:
        return self.services.findings.get(project_id=key.project_id, prompt_id=prompt_id, finding_id=finding_id)

    @operation(
        "Change the state or the assignee of a finding",
        body=schemas.FindingChangeSchema,
        answers={200: schemas.PromptFindingDetailSchema},
    )
    def on_patch(self, key: ApiKey, prompt_id: int, finding_id: str, command: Command) -> FindingView:
        of_finding: dict[str, Any] = {"project_id": key.project_id, "prompt_id": prompt_id, "finding_id": finding_id}
        self.services.findings.change(**of_finding, changes=command, actor=key.actor)
        return self.services.findings.get(**of_finding)
