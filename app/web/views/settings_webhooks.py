"""Settings: the webhooks of the project, and the log of their deliveries."""

from __future__ import annotations

from typing import Any

from app.errors import Conflict, Invalid
from app.schemas.base import load
from app.schemas.webhooks import NewWebhookSchema
from app.services.webhooks.service import NewWebhook
from app.web.forms import Form
from app.web.page import PAGE_SIZE, Redirect, Reply, SettingsPage, confirm, show
from app.web.visit import Visit

FORMATS = [("json", "JSON, signed"), ("slack", "Slack’s incoming webhooks")]
EVENTS = (
    ("version.committed", "A version is committed"),
    ("label.moved", "A label is moved"),
    ("experiment.finished", "An experiment ends"),
    ("guard_map.finished", "A guard map ends"),
    ("model.drifted", "A watch finds a drop"),
    ("coverage.fell", "A suite represents too few sessions"),
    ("finding.opened", "A finding is new"),
    ("finding.reopened", "A solved finding comes back"),
    ("spans.rejected", "Spans are rejected"),
    ("alert.started", "An alert rule begins to fire"),
    ("alert.ended", "An alert rule fires no longer"),
)


class WebhooksPage(SettingsPage):
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        rows = self.services.webhooks.list(project_id=visit.project_id)
        chosen = visit.sent.texts("events") if visit.problem else [event for event, _ in EVENTS]
        return show("settings_webhooks.html", rows=rows, events=EVENTS, formats=FORMATS, chosen=chosen)

    def post(self, visit: Visit) -> Reply:
        made = self.services.webhooks.create(
            project_id=visit.project_id, new=new_webhook(visit.form), actor=visit.actor
        )
        return Redirect(_path(visit, made.webhook.id), once=made.secret)


class WebhookView(SettingsPage):
    """Shows a webhook. Its buttons save the form, send a test, or repeat a delivery."""

    refusals = (Invalid, Conflict)
    shows_once = True

    def get(self, visit: Visit, webhook_id: int) -> Reply:
        key = {"project_id": visit.project_id, "webhook_id": webhook_id}
        webhook = self.services.webhooks.get(**key)
        page = self.services.webhooks.deliveries(**key, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        resent = visit.problem is not None and "url" in visit.sent.fields
        return show(
            "settings_webhook.html",
            webhook=webhook,
            path=_path(visit, webhook_id),
            events=EVENTS,
            formats=FORMATS,
            url=visit.sent.text("url", webhook.url),
            format=visit.sent.text("format", webhook.format),
            chosen=visit.sent.texts("events") if resent else webhook.events,
            enabled=visit.sent.flag("enabled") if resent else webhook.enabled,
            deliveries=page.entries,
            now=self.container.now(),
            pages=visit.pages(page.next_cursor),
            labels_of_events=dict(EVENTS),
        )

    def post(self, visit: Visit, webhook_id: int) -> Reply:
        key, path = {"project_id": visit.project_id, "webhook_id": webhook_id}, _path(visit, webhook_id)
        match visit.form.choice("do", ("save", "test", "again")):
            case "test":
                self.services.webhooks.test(**key, actor=visit.actor)
                return Redirect(f"{path}#log", "A test is on its way: reload this page in a few seconds.")
            case "again":
                self.services.webhooks.deliver_again(**key, delivery_id=visit.form.integer("delivery"))
                return Redirect(f"{path}#log", "The delivery is made again: reload this page in a few seconds.")
            case _:
                new = new_webhook(visit.form)
                values = {"url": new.url, "events": new.events, "format": new.format, "enabled": new.enabled}
                self.services.webhooks.change(**key, values=values, actor=visit.actor)
                return Redirect(path, "The webhook is changed.")


class RotateWebhookSecret(SettingsPage):
    def get(self, visit: Visit, webhook_id: int) -> Reply:
        self.services.webhooks.get(project_id=visit.project_id, webhook_id=webhook_id)
        return confirm(
            visit,
            title="Make a new secret?",
            text="The old secret signs, too, for 24 hours: give the new one to the receiver in that time.",
            button="Make a new secret",
            back=_path(visit, webhook_id),
            danger=False,
        )

    def post(self, visit: Visit, webhook_id: int) -> Reply:
        rotated = self.services.webhooks.rotate_secret(
            project_id=visit.project_id, webhook_id=webhook_id, actor=visit.actor
        )
        return Redirect(_path(visit, webhook_id), once=rotated.secret)


class RemoveWebhook(SettingsPage):
    def get(self, visit: Visit, webhook_id: int) -> Reply:
        self.services.webhooks.get(project_id=visit.project_id, webhook_id=webhook_id)
        return confirm(
            visit,
            title="Remove the webhook?",
            text="Its receiver gets no more events, including waiting ones, and the log is removed.",
            button="Remove the webhook",
            back=_path(visit, webhook_id),
        )

    def post(self, visit: Visit, webhook_id: int) -> Reply:
        self.services.webhooks.remove(project_id=visit.project_id, webhook_id=webhook_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/webhooks", "The webhook is removed.")


def new_webhook(form: Form) -> NewWebhook:
    """Return the webhook of the form; raises `Invalid` like the API."""
    sent: dict[str, Any] = {"url": form.text("url"), "events": form.texts("events"), "format": form.text("format")}
    webhook: NewWebhook = load(NewWebhookSchema(), sent | {"enabled": form.flag("enabled")})
    return webhook


def _path(visit: Visit, webhook_id: int) -> str:
    return f"{visit.base}/settings/webhooks/{webhook_id}"
