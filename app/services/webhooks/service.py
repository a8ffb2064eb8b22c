"""The webhooks of a project: created, changed, tested and removed; their secrets, and the log of their deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.encryption import CredentialCipher
from app.errors import Conflict, Invalid, require
from app.models import audit_log, organizations, rejected_spans, webhook_deliveries, webhooks
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.queries import delete_rows, insert_row
from app.models.webhook_deliveries import DeliveryRow
from app.models.webhooks import TEST_EVENT, Format, Webhook
from app.network.addresses import check_address
from app.pagination import ListPage, page_by_id
from app.timestamps import Now
from app.webhooks.message import new_secret
from app.webhooks.sender import WebhookSender

WEBHOOKS_MAX, URL_MAX = 20, 2000
OLD_SECRET_FOR = timedelta(hours=24)
"""The previous secret also signs for this time after a rotation."""
NO_WEBHOOK = "There is no such webhook."


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook to create; `events` are names of `app.models.webhooks.WebhookEvent`, each once."""

    url: str
    events: tuple[str, ...]
    format: Format = "json"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """A webhook with its secret, which is only shown when it is created."""

    webhook: Webhook
    secret: str


@dataclass(slots=True, kw_only=True)
class WebhookService:
    """Manages the webhooks of projects. `secret_key` encrypts their signing secrets."""

    database: Database
    now: Now
    sender: WebhookSender
    secret_key: str
    _cipher: CredentialCipher = field(init=False)

    def __post_init__(self) -> None:
        self._cipher = CredentialCipher(self.secret_key)

    def list(self, *, project_id: int) -> list[Webhook]:
        """Return the project's webhooks, oldest first."""
        with self.database.read() as connection:
            return webhooks.list_webhooks(connection, project_id=project_id)

    def get(self, *, project_id: int, webhook_id: int) -> Webhook:
        with self.database.read() as connection:
            return _webhook(connection, project_id, webhook_id)

    @retried
    def create(self, *, project_id: int, new: NewWebhook, actor: Actor = SYSTEM) -> KnownSecret:
        """Create a webhook; raises `Invalid` for an address that may not be called, and beyond `WEBHOOKS_MAX`."""
        self._check_url(new.url)
        now, secret = self.now(), new_secret()
        with self.database.write() as connection:
            # Under the lock of the organization, the limit counts what is created at the same moment.
            organizations.lock_owner(connection, project_id)
            webhook_id = insert_row(
                connection,
                webhooks.webhooks,
                project_id=project_id,
                url=new.url,
                events=new.events,
                format=new.format,
                enabled=new.enabled,
                secret=self._cipher.encrypt(secret),
                rejected_id=rejected_spans.newest_rejected(connection, project_id=project_id),
                created_at=now,
                updated_at=now,
            )
            if len(webhooks.list_webhooks(connection, project_id=project_id)) > WEBHOOKS_MAX:
                raise Invalid(f"url: A project has at most {WEBHOOKS_MAX} webhooks; remove one first.")
            made = _webhook(connection, project_id, webhook_id)
            self._note(connection, actor, Action.WEBHOOK_CREATED, made)
        return KnownSecret(made, secret)

    @retried
    def change(self, *, project_id: int, webhook_id: int, values: Mapping[str, Any], actor: Actor = SYSTEM) -> Webhook:
        """Change the named fields of `NewWebhook`."""
        if "url" in values:
            self._check_url(values["url"])
        changed = {**values, "updated_at": self.now(), "busy_until": None}
        with self.database.write() as connection:
            old = _webhook(connection, project_id, webhook_id)
            webhooks.change_webhook(connection, project_id=project_id, webhook_id=webhook_id, values=changed)
            new = _webhook(connection, project_id, webhook_id)
            fields = [name for name in values if getattr(old, name) != getattr(new, name)]
            if fields:
                self._note(connection, actor, Action.WEBHOOK_CHANGED, new, changed=", ".join(fields))
        return new

    @retried
    def rotate_secret(self, *, project_id: int, webhook_id: int, actor: Actor = SYSTEM) -> KnownSecret:
        """Create a new secret; the old one also signs for `OLD_SECRET_FOR`, so that receivers can change over."""
        now, secret = self.now(), new_secret()
        with self.database.write() as connection:
            key = {"project_id": project_id, "webhook_id": webhook_id}
            webhook = _webhook(connection, project_id, webhook_id)
            old = require(webhooks.find_secrets(connection, **key), NO_WEBHOOK).secret
            values = {"secret": self._cipher.encrypt(secret), "old_secret": old, "updated_at": now}
            values["old_secret_until"] = now + OLD_SECRET_FOR
            webhooks.change_webhook(connection, **key, values=values)
            self._note(connection, actor, Action.WEBHOOK_SECRET_ROTATED, webhook)
        return KnownSecret(webhook, secret)

    @retried
    def remove(self, *, project_id: int, webhook_id: int, actor: Actor = SYSTEM) -> None:
        """Remove the webhook with the log of its deliveries."""
        with self.database.write() as connection:
            self._note(connection, actor, Action.WEBHOOK_REMOVED, _webhook(connection, project_id, webhook_id))
            of_webhook = {"project_id": project_id, "webhook_id": webhook_id}
            delete_rows(connection, webhook_deliveries.webhook_deliveries, **of_webhook)
            delete_rows(connection, webhooks.webhooks, project_id=project_id, id=webhook_id)

    @retried
    def test(self, *, project_id: int, webhook_id: int, actor: Actor = SYSTEM) -> DeliveryRow:
        """Write a delivery of the event `webhook.test`; `Conflict` for a webhook that is disabled."""
        key, data = {"project_id": project_id, "webhook_id": webhook_id}, {"projectId": project_id}
        with self.database.write() as connection:
            if not _webhook(connection, **key).enabled:
                raise Conflict("The webhook is disabled: enable it first.")
            delivery_id = webhook_deliveries.add_deliveries(
                connection,
                self.now(),
                TEST_EVENT,
                data | {"sentBy": actor.name},
                project_id=project_id,
                webhook_ids=[webhook_id],
            )
            return _delivery(connection, **key, delivery_id=delivery_id)

    def deliveries(
        self, *, project_id: int, webhook_id: int, limit: int = 50, cursor: str | None = None
    ) -> ListPage[DeliveryRow]:
        """Return a page of the webhook's deliveries, newest first."""
        key = {"project_id": project_id, "webhook_id": webhook_id}
        with self.database.read() as connection:
            _webhook(connection, **key)
            read = partial(webhook_deliveries.list_deliveries, connection, **key)
            return page_by_id(read, limit=limit, cursor=cursor)

    def delivery(self, **key: int) -> DeliveryRow:
        """Return the delivery with `project_id`, `webhook_id` and `delivery_id`."""
        with self.database.read() as connection:
            return _delivery(connection, **key)

    @retried
    def deliver_again(self, /, **key: int) -> DeliveryRow:
        """Repeat the delivery immediately, as the same event, with all attempts of a new one."""
        now = self.now()
        with self.database.write() as connection:
            webhook_deliveries.deliver_again(connection, _delivery(connection, **key), now=now)
            webhooks.free_at(connection, webhook_id=key["webhook_id"], when=now)
            return _delivery(connection, **key)

    def signing(self, *, project_id: int, webhook_id: int) -> Sequence[str]:
        """Return the present signing secrets, the newest first; `Undecryptable` if the encryption key has changed."""
        with self.database.read() as connection:
            stored = webhooks.find_secrets(connection, project_id=project_id, webhook_id=webhook_id)
        sealed = require(stored, NO_WEBHOOK)
        secrets = [sealed.secret]
        if sealed.old_secret and sealed.old_secret_until and sealed.old_secret_until > self.now():
            secrets.append(sealed.old_secret)
        return [self._cipher.decrypt(secret) for secret in secrets]

    def _check_url(self, url: str) -> None:
        host = check_address("url", url, longest=URL_MAX)
        try:
            self.sender.refuse(host)
        except Invalid as error:
            raise Invalid(f"url: {error}") from None

    def _note(self, connection: Connection, actor: Actor, action: Action, webhook: Webhook, **details: str) -> None:
        # Only the host: paths of addresses, such as Slack's, are secrets.
        host = urlsplit(webhook.url).hostname or ""
        audit_log.note(connection, self.now(), actor, action, host, details, project_id=webhook.project_id)


def _webhook(connection: Connection, project_id: int, webhook_id: int) -> Webhook:
    return require(webhooks.find_webhook(connection, project_id=project_id, webhook_id=webhook_id), NO_WEBHOOK)


def _delivery(connection: Connection, *, project_id: int, webhook_id: int, delivery_id: int) -> DeliveryRow:
    delivery = webhook_deliveries.find_delivery(
        connection, project_id=project_id, webhook_id=webhook_id, delivery_id=delivery_id
    )
    return require(delivery, "There is no such delivery.")
