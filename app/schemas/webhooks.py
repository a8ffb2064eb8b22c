"""Webhooks of a project and the log of their deliveries."""

from __future__ import annotations

from typing import Any, ClassVar

from marshmallow import fields, validate

from app.models import webhook_deliveries, webhooks
from app.schemas.answer import AnswerSchema, choice, fields_of, listing, many, mapping, part, text
from app.schemas.base import BoundedList, StrictBoolean, StrictSchema, Text
from app.services.webhooks.service import URL_MAX, NewWebhook

EVENTS, FORMATS = [str(event) for event in webhooks.WebhookEvent], ["json", "slack"]


def _in_order(names: list[str]) -> tuple[str, ...]:
    """Return the named events in their usual order, without repetition."""
    return tuple(event for event in EVENTS if event in names)


def _url(**options: Any) -> Text:
    return Text(minimum=1, maximum=URL_MAX, trim=True, **options)


def _events(**options: Any) -> BoundedList:
    known = fields.String(validate=validate.OneOf(EVENTS))
    return BoundedList(known, minimum=1, maximum=len(EVENTS), into=_in_order, **options)


class NewWebhookSchema(StrictSchema):
    command: ClassVar = NewWebhook

    url = _url(required=True)
    events = _events(required=True)
    format = fields.String(validate=validate.OneOf(FORMATS), load_default="json")
    enabled = StrictBoolean(load_default=True)


class WebhookChangeSchema(StrictSchema):
    """Omitted fields keep their values."""

    url = _url()
    events = _events()
    format = fields.String(validate=validate.OneOf(FORMATS))
    enabled = StrictBoolean()


class WebhookAnswerSchema(AnswerSchema):
    row = fields_of(webhooks.Webhook, "id", "url")
    events = many(choice(*EVENTS))
    format = choice(*FORMATS)
    state = fields_of(webhooks.Webhook, "enabled", "created_at", "updated_at")


class KnownSecretSchema(AnswerSchema):
    """A webhook with its secret. The secret is shown only once."""

    webhook = part(WebhookAnswerSchema, "webhook")
    secret = text()


class WebhookDeliverySchema(AnswerSchema):
    """`attempts` counts attempts that began. While the status is `waiting`, the next one is made at `dueAt`."""

    row = fields_of(webhook_deliveries.DeliveryRow, "id", "event_id", "event")
    data = mapping()
    state = fields_of(webhook_deliveries.DeliveryRow, "status", "attempts", "due_at")
    answer = fields_of(webhook_deliveries.DeliveryRow, "status_code", "error", "answer", "latency_ms")
    times = fields_of(webhook_deliveries.DeliveryRow, "created_at", "finished_at")


Webhooks = listing("webhooks", WebhookAnswerSchema)
WebhookDeliveries = listing("deliveries", WebhookDeliverySchema, name="WebhookDeliveries", paged=True)
