"""Settings: the alert rules of the project."""

from __future__ import annotations

from app.errors import Invalid, NotFound
from app.schemas.alert_rules import NewAlertRuleSchema
from app.schemas.base import load
from app.services.webhooks.alerts import DAY_MINUTES, NewAlertRule
from app.web.forms import Form
from app.web.page import Redirect, Reply, SettingsPage, confirm, show
from app.web.visit import Visit

METRICS = [
    ("errorShare", "Share of sessions with errors"),
    ("observedCost", "Cost of traced model calls"),
    ("cost", "Cost of runs and replays"),
]
WINDOWS = [
    ("60", "The last hour"),
    ("360", "The last 6 hours"),
    (str(DAY_MINUTES), "A day"),
    (str(7 * DAY_MINUTES), "7 days"),
    (str(30 * DAY_MINUTES), "30 days"),
]
PROMPTS_MAX = 500


class Alerts(SettingsPage):
    refusals = (Invalid, NotFound)

    def get(self, visit: Visit) -> Reply:
        listed = self.services.prompts.list(project_id=visit.project_id, limit=PROMPTS_MAX).prompts
        names = {str(prompt.id): prompt.name for prompt in listed}
        return show(
            "settings_alerts.html",
            rows=self.services.alerts.list(project_id=visit.project_id),
            has_webhooks=bool(self.services.webhooks.list(project_id=visit.project_id)),
            metrics=METRICS,
            windows=WINDOWS,
            prompts=[("", "All prompts"), *names.items()],
            names=names,
        )

    def post(self, visit: Visit) -> Reply:
        self.services.alerts.create(project_id=visit.project_id, new=new_rule(visit.form), actor=visit.actor)
        return Redirect(f"{visit.base}/settings/alerts", "The alert rule is made: the first look is within a minute.")


class RemoveAlert(SettingsPage):
    def get(self, visit: Visit, rule_id: int) -> Reply:
        rule = self.services.alerts.get(project_id=visit.project_id, rule_id=rule_id)
        return confirm(
            visit,
            title="Remove the alert rule?",
            text=f"Nobody is told any more of the rule on: {dict(METRICS)[rule.metric].lower()}.",
            button="Remove the rule",
            back=f"{visit.base}/settings/alerts",
        )

    def post(self, visit: Visit, rule_id: int) -> Reply:
        self.services.alerts.remove(project_id=visit.project_id, rule_id=rule_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/alerts", "The alert rule is removed.")


def new_rule(form: Form) -> NewAlertRule:
    """Return the rule of the form, whose threshold is percent or USD; `Invalid` for one that the API refuses, too."""
    metric, threshold = form.text("metric"), form.number("threshold", "Above")
    sent = {
        "metric": metric,
        "threshold": threshold / 100 if metric == "errorShare" else threshold,
        "windowMinutes": form.integer("window"),
        "promptId": form.text("prompt") or None,
        "minSessions": form.integer("minSessions"),
    }
    rule: NewAlertRule = load(NewAlertRuleSchema(), sent)
    return rule
