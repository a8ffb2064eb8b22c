"""/api/v1/alert-rules: thresholds of errors and costs; webhooks receive an event when one is crossed."""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.models import alert_rules as models
from app.models.api_keys import ApiKey
from app.schemas import alert_rules as schemas
from app.services.webhooks.alerts import RULES_MAX, NewAlertRule


class AlertRules(Resource, tag="Webhooks", GET="admin", POST="admin"):
    @operation("The project's alert rules", answers={200: schemas.AlertRules})
    def on_get(self, key: ApiKey) -> list[models.AlertRule]:
        return self.services.alerts.list(project_id=key.project_id)

    @operation(
        f"Make an alert rule; a project has at most {RULES_MAX}",
        body=schemas.NewAlertRuleSchema,
        answers={201: schemas.AlertRuleSchema},
        location="/api/v1/alert-rules/{id}",
        errors=(404,),
    )
    def on_post(self, key: ApiKey, command: NewAlertRule) -> models.AlertRule:
        return self.services.alerts.create(project_id=key.project_id, new=command, actor=key.actor)


class AlertRuleResource(Resource, tag="Webhooks", GET="admin", PATCH="admin", DELETE="admin"):
    @operation("One alert rule", answers={200: schemas.AlertRuleSchema})
    def on_get(self, key: ApiKey, rule_id: int) -> models.AlertRule:
        return self.services.alerts.get(project_id=key.project_id, rule_id=rule_id)

    @operation(
        "Change or pause an alert rule; it starts again",
        body=schemas.AlertRuleChangeSchema,
        answers={200: schemas.AlertRuleSchema},
    )
    def on_patch(self, key: ApiKey, rule_id: int, command: Command) -> models.AlertRule:
        return self.services.alerts.change(project_id=key.project_id, rule_id=rule_id, values=command, actor=key.actor)

    @operation("Remove an alert rule", answers={204: None})
    def on_delete(self, key: ApiKey, rule_id: int) -> None:
        self.services.alerts.remove(project_id=key.project_id, rule_id=rule_id, actor=key.actor)
