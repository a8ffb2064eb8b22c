"""/api/v1/webhooks: addresses that receive the events of a project, and the log of deliveries.

All routes require the scope `admin`: anyone who knows the address of a Slack webhook can post to its channel.
"""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.models import webhooks as models
from app.models.api_keys import ApiKey
from app.models.webhook_deliveries import DeliveryRow
from app.pagination import ListPage
from app.schemas import webhooks as schemas
from app.schemas.base import PageQuerySchema
from app.services.webhooks.service import WEBHOOKS_MAX, KnownSecret, NewWebhook

DELIVERY = "/api/v1/webhooks/{webhook_id}/deliveries/{id}"


class WebhooksResource(Resource, GET="admin", POST="admin"):
    @operation("The project's webhooks", answers={200: schemas.Webhooks})
    def on_get(self, key: ApiKey) -> list[models.Webhook]:
        return self.services.webhooks.list(project_id=key.project_id)

    @operation(
        f"Make a webhook; a project has at most {WEBHOOKS_MAX}; its secret is shown only once",
        body=schemas.NewWebhookSchema,
        answers={201: schemas.KnownSecretSchema},
        location="/api/v1/webhooks/{id}",
    )
    def on_post(self, key: ApiKey, command: NewWebhook) -> KnownSecret:
        return self.services.webhooks.create(project_id=key.project_id, new=command, actor=key.actor)


class WebhookResource(Resource, GET="admin", PATCH="admin", DELETE="admin"):
    @operation("One webhook", answers={200: schemas.WebhookAnswerSchema})
    def on_get(self, key: ApiKey, webhook_id: int) -> models.Webhook:
        return self.services.webhooks.get(project_id=key.project_id, webhook_id=webhook_id)

    @operation("Change a webhook", body=schemas.WebhookChangeSchema, answers={200: schemas.WebhookAnswerSchema})
    def on_patch(self, key: ApiKey, webhook_id: int, command: Command) -> models.Webhook:
        return self.services.webhooks.change(
            project_id=key.project_id, webhook_id=webhook_id, values=command, actor=key.actor
        )

    @operation("Remove a webhook and the log of its deliveries", answers={204: None})
    def on_delete(self, key: ApiKey, webhook_id: int) -> None:
        self.services.webhooks.remove(project_id=key.project_id, webhook_id=webhook_id, actor=key.actor)


class WebhookSecret(Resource, POST="admin"):
    @operation(
        "Rotate the secret; the new one is shown only once; for 24 hours the old one signs, too",
        answers={200: schemas.KnownSecretSchema},
    )
    def on_post(self, key: ApiKey, webhook_id: int) -> KnownSecret:
        return self.services.webhooks.rotate_secret(project_id=key.project_id, webhook_id=webhook_id, actor=key.actor)


class WebhookTest(Resource, POST="admin"):
    @operation(
        "Send an event of the type `webhook.test`",
        answers={202: schemas.WebhookDeliverySchema},
        location=DELIVERY,
        errors=(409,),
    )
    def on_post(self, key: ApiKey, webhook_id: int) -> DeliveryRow:
        return self.services.webhooks.test(project_id=key.project_id, webhook_id=webhook_id, actor=key.actor)


class WebhookDeliveries(Resource, GET="admin"):
    @operation(
        "The webhook's deliveries, newest first", query=PageQuerySchema, answers={200: schemas.WebhookDeliveries}
    )
    def on_get(self, key: ApiKey, webhook_id: int, command: Command) -> ListPage[DeliveryRow]:
        return self.services.webhooks.deliveries(project_id=key.project_id, webhook_id=webhook_id, **command)


class WebhookDeliveryResource(Resource, GET="admin"):
    @operation("One delivery", answers={200: schemas.WebhookDeliverySchema})
    def on_get(self, key: ApiKey, webhook_id: int, delivery_id: int) -> DeliveryRow:
        return self.services.webhooks.delivery(
            project_id=key.project_id, webhook_id=webhook_id, delivery_id=delivery_id
        )


class Redelivery(Resource, POST="admin"):
    @operation("Repeat a delivery with the same event", answers={202: schemas.WebhookDeliverySchema}, location=DELIVERY)
    def on_post(self, key: ApiKey, webhook_id: int, delivery_id: int) -> DeliveryRow:
        return self.services.webhooks.deliver_again(
            project_id=key.project_id, webhook_id=webhook_id, delivery_id=delivery_id
        )
