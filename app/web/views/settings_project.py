"""Settings: the project's name, further projects, the data policy, and the audit log."""

from __future__ import annotations

from typing import Any

from app.errors import Invalid
from app.models.data_policies import DataPolicy
from app.otlp.masking import MASK
from app.schemas.base import load
from app.schemas.organization import DataPolicySchema
from app.web.forms import Form
from app.web.page import PAGE_SIZE, Redirect, Reply, SettingsPage, show
from app.web.visit import Visit


class ProjectSettings(SettingsPage):
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        return show("settings_project.html")

    def post(self, visit: Visit) -> Reply:
        name, projects = visit.form.text("name"), self.services.projects
        if visit.form.text("do") == "create":
            project_id = projects.create(organization_id=visit.organization_id, name=name, actor=visit.actor)
            return Redirect(f"/projects/{project_id}/start", "The project is made.")
        projects.rename(project_id=visit.project_id, name=name, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/project", "The project is renamed.")


# Field of the API, of the policy, and its label.
DAYS = (
    ("spans", "spans_days", "Spans and sessions"),
    ("runs", "runs_days", "Runs"),
    ("replays", "replays_days", "Replays"),
    ("rejectedSpans", "rejected_days", "Rejected spans"),
)
SPARE_RULES = 3


class DataPolicySettings(SettingsPage):
    """The days that the project keeps its data, and the rules that mask it before it is stored."""

    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        """The policy, or what was sent, with empty rules to fill in."""
        policy = self.services.data_policies.get(project_id=visit.project_id)
        rules = policy_body(visit.form)["masking"] if visit.problem else policy.masking
        return show(
            "settings_data.html",
            days=[(field, label, getattr(policy, name)) for field, name, label in DAYS],
            rules=[*rules, *[{"kind": "pattern", "value": "", "replacement": MASK}] * SPARE_RULES],
        )

    def post(self, visit: Visit) -> Reply:
        try:
            policy: DataPolicy = load(DataPolicySchema(), policy_body(visit.form))
            self.services.data_policies.put(project_id=visit.project_id, policy=policy, actor=visit.actor)
        except Invalid as error:
            raise Invalid(_labelled(str(error))) from error
        return Redirect(f"{visit.base}/settings/data", "Saved.")


def policy_body(form: Form) -> dict[str, Any]:
    """The body of the API; an empty number of days keeps data for ever, a rule without a value is dropped."""
    rules = zip(form.texts("kind"), form.texts("value"), form.texts("replacement"), strict=False)
    return {
        "retentionDays": {field: _days(form.text(field).strip()) for field, _, _ in DAYS},
        "masking": [
            dict(zip(("kind", "value", "replacement"), rule, strict=True)) for rule in rules if rule[1].strip()
        ],
    }


def _days(text: str) -> int | str | None:
    """A number, else the text as it is: the schema refuses it by its name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text or None


def _labelled(problem: str) -> str:
    """The message with the label of the page in place of the body's path."""
    path, _, message = problem.partition(": ")
    match path.split("."):
        case ["masking", index, *_] if index.isdigit():
            return f"Rule {int(index) + 1}: {message}"
        case ["retentionDays", field]:
            return next((f"{label}: {message}" for name, _, label in DAYS if name == field), problem)
    return problem


class Audit(SettingsPage):
    def get(self, visit: Visit) -> Reply:
        found = self.services.audit.page(
            organization_id=visit.organization_id, limit=PAGE_SIZE, cursor=visit.query.get("cursor")
        )
        return show("settings_audit.html", entries=found.entries, pages=visit.pages(found.next_cursor))
