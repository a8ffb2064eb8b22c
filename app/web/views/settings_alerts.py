"""Settings: the alert rules of the project."""

from __future__ import annotations

from dataclasses import asdict

from app.errors import Invalid, NotFound
from app.models.alert_rules import SHARES, AlertRule
from app.schemas.alert_rules import NewAlertRuleSchema
from app.schemas.base import load
from app.services.webhooks.alerts import DAY_MINUTES, NewAlertRule
from app.web.forms import Form
from app.web.page import Redirect, Reply, SettingsPage, confirm, show
from app.web.visit import Visit
from app.wiring.services import Services

METRICS = [
    ("errorShare", "Share of sessions with errors"),
    ("uncoveredShare", "Share of a prompt's sessions without a test"),
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
NEW = {"metric": "errorShare", "threshold": "", "window": "60", "prompt": "", "minSessions": "10"}


class Alerts(SettingsPage):
    refusals = (Invalid, NotFound)

    def get(self, visit: Visit) -> Reply:
        names = _names(self.services, visit.project_id)
        return show(
            "settings_alerts.html",
            rows=self.services.alerts.list(project_id=visit.project_id),
            has_webhooks=bool(self.services.webhooks.list(project_id=visit.project_id)),
            metrics=METRICS,
            windows=WINDOWS,
            prompts=[("", "All prompts"), *names.items()],
            given=NEW,
            names=names,
        )

    def post(self, visit: Visit) -> Reply:
        self.services.alerts.create(project_id=visit.project_id, new=new_rule(visit.form), actor=visit.actor)
        return Redirect(f"{visit.base}/settings/alerts", "The alert rule is created: it is evaluated within a minute.")


class AlertView(SettingsPage):
    refusals = (Invalid, NotFound)

    def get(self, visit: Visit, rule_id: int) -> Reply:
        rule = self.services.alerts.get(project_id=visit.project_id, rule_id=rule_id)
        names = _names(self.services, visit.project_id)
        given = _given(rule)
        return show(
            "settings_alert.html",
            path=f"{visit.base}/settings/alerts/{rule_id}",
            metrics=METRICS,
            windows=_with(WINDOWS, given["window"], f"{rule.window_minutes} minutes"),
            prompts=_with([("", "All prompts"), *names.items()], given["prompt"], "An archived prompt"),
            given=given,
            enabled=visit.sent.flag("enabled") if visit.problem else rule.enabled,
        )

    def post(self, visit: Visit, rule_id: int) -> Reply:
        values = asdict(new_rule(visit.form)) | {"enabled": visit.form.flag("enabled")}
        rule = self.services.alerts.change(
            project_id=visit.project_id, rule_id=rule_id, values=values, actor=visit.actor
        )
        message = (
            "The alert rule starts again: it is evaluated within a minute." if rule.enabled else "The rule is paused."
        )
        return Redirect(f"{visit.base}/settings/alerts", message)


def _names(services: Services, project_id: int) -> dict[str, str]:
    """Return the names of the project's prompts by id."""
    listed = services.prompts.list(project_id=project_id, limit=PROMPTS_MAX).prompts
    return {str(prompt.id): prompt.name for prompt in listed}


def _with(options: list[tuple[str, str]], value: str, label: str) -> list[tuple[str, str]]:
    """Return the options, with one added for `value` if it is not among them."""
    return options if value in dict(options) else [*options, (value, label)]


def _given(rule: AlertRule) -> dict[str, str]:
    """Return the texts of a rule's form."""
    return {
        "metric": rule.metric,
        "threshold": f"{rule.threshold * (100 if rule.metric in SHARES else 1):.15g}",
        "window": str(rule.window_minutes),
        "prompt": str(rule.prompt_id or ""),
        "minSessions": str(rule.min_sessions),
    }


class RemoveAlert(SettingsPage):
    def get(self, visit: Visit, rule_id: int) -> Reply:
        rule = self.services.alerts.get(project_id=visit.project_id, rule_id=rule_id)
        return confirm(
            visit,
            title="Remove the alert rule?",
            text=f"Webhooks receive no more events of the rule on: {dict(METRICS)[rule.metric].lower()}.",
            button="Remove the rule",
            back=f"{visit.base}/settings/alerts",
        )

    def post(self, visit: Visit, rule_id: int) -> Reply:
        self.services.alerts.remove(project_id=visit.project_id, rule_id=rule_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/alerts", "The alert rule is removed.")


def new_rule(form: Form) -> NewAlertRule:
    """Return the rule of the form, where thresholds are percent or USD; raises `Invalid` like the API."""
    metric, threshold = form.text("metric"), form.number("threshold", "Threshold")
    sent = {
        "metric": metric,
        "threshold": threshold / 100 if metric in SHARES else threshold,
        "windowMinutes": form.integer("window"),
        "promptId": form.text("prompt") or None,
        "minSessions": form.integer("minSessions"),
    }
    rule: NewAlertRule = load(NewAlertRuleSchema(), sent)
    return rule
