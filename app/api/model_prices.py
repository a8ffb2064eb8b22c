"""/api/v1/model-prices: an organization's prices for models in traces."""

from __future__ import annotations

from app.api.operation import ApiReply, Resource, operation
from app.models import model_prices
from app.models.api_keys import ApiKey
from app.schemas import model_prices as schemas
from app.services.language_models.prices import OwnPrice


class ModelPricesResource(Resource, tag="Models", GET="read", POST="admin"):
    @operation(
        "The prices that the organization has set, and models of the last 30 days without a price",
        answers={200: schemas.ModelPricesSchema},
    )
    def on_get(self, key: ApiKey) -> schemas.Priced:
        prices = self.services.prices.list(organization_id=key.organization_id)
        return schemas.Priced(prices, self.services.observed.unpriced(project_id=key.project_id))

    @operation(
        "Set the price of a model in traces, or change it (200)",
        body=schemas.ModelPriceSchema,
        answers={200: schemas.ModelPriceAnswerSchema, 201: schemas.ModelPriceAnswerSchema},
        location="/api/v1/model-prices/{id}",
        answer_headers=("Location",),
    )
    def on_post(self, key: ApiKey, command: OwnPrice) -> ApiReply:
        price, added = self.services.prices.put(organization_id=key.organization_id, price=command, actor=key.actor)
        return ApiReply(201 if added else 200, price)


class ModelPriceResource(Resource, tag="Models", GET="read", DELETE="admin"):
    @operation("A price that the organization has set", answers={200: schemas.ModelPriceAnswerSchema})
    def on_get(self, key: ApiKey, price_id: int) -> model_prices.ModelPrice:
        return self.services.prices.get(organization_id=key.organization_id, price_id=price_id)

    @operation("Remove a price that the organization has set", answers={204: None})
    def on_delete(self, key: ApiKey, price_id: int) -> None:
        self.services.prices.remove(organization_id=key.organization_id, price_id=price_id, actor=key.actor)
