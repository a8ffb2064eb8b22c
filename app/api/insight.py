"""GET /api/v1/prompts/{id}/insight and its /comparison: figures of a prompt's versions, and two versions compared."""

from __future__ import annotations

from app.api.operation import Resource, operation
from app.models.api_keys import ApiKey
from app.schemas import insight as schemas


class PromptInsightResource(Resource, tag="Insight", GET="read"):
    @operation(
        "Figures of sessions, runs, replays and scores by version, label, model or day",
        query=schemas.InsightQuery,
        answers={200: schemas.PromptInsightSchema},
    )
    def on_get(self, key: ApiKey, command: schemas.InsightQuestion, prompt_id: int) -> schemas.InsightReport:
        filters = command.filters(self.container.now().date())
        which = {"project_id": key.project_id, "prompt_id": prompt_id}
        groups = self.services.insight.read(**which, filters=filters, group_by=command.group_by)
        return schemas.InsightReport(groups, filters, command.group_by)


class InsightComparisonResource(Resource, tag="Insight", GET="read"):
    @operation(
        "Compare two versions, with intervals, and whether the later one got better",
        query=schemas.ComparisonQuery,
        answers={200: schemas.InsightComparisonSchema},
    )
    def on_get(self, key: ApiKey, command: schemas.ComparisonQuestion, prompt_id: int) -> schemas.ComparedReport:
        filters = command.filters(self.container.now().date())
        which = {"project_id": key.project_id, "prompt_id": prompt_id}
        comparison = self.services.insight.compare(**which, filters=filters, before=command.before, after=command.after)
        return schemas.ComparedReport(comparison, filters)
