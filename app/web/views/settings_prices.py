"""Settings: prices of models in traces, and models without a price."""

from __future__ import annotations

from app.errors import Invalid
from app.models.model_prices import ModelPrice
from app.schemas.base import load
from app.schemas.model_prices import ModelPriceSchema
from app.services.language_models.prices import OwnPrice
from app.web.forms import Form
from app.web.page import Redirect, Reply, SettingsPage, confirm, show
from app.web.visit import Visit

# The field in the API and the row, its label, and the price that applies if it is empty.
PRICES = (
    ("promptPrice", "prompt_price", "Input", ""),
    ("completionPrice", "completion_price", "Output", ""),
    ("cacheReadPrice", "cache_read_price", "Cache read", "Empty: as input"),
    ("cacheWritePrice", "cache_write_price", "Cache write", "Empty: as input"),
    ("reasoningPrice", "reasoning_price", "Reasoning", "Empty: as output"),
)


class ModelPricesPage(SettingsPage):
    """Shows and sets prices. The address can fill in the form's model, provider and price."""

    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        own = self.services.prices.list(organization_id=visit.organization_id)
        unpriced = self.services.observed.unpriced(project_id=visit.project_id)
        price_id = visit.identifier("price")
        chosen = next((price for price in own if price.id == price_id), None)
        return show("settings_prices.html", own=own, unpriced=unpriced, prices=PRICES, filled=_filled(visit, chosen))

    def post(self, visit: Visit) -> Reply:
        price, _ = self.services.prices.put(
            organization_id=visit.organization_id, price=own_price(visit.form), actor=visit.actor
        )
        return Redirect(f"{_path(visit)}#main", f"The price of {price.model[:100]} is set, also for what is stored.")


class RemovePrice(SettingsPage):
    def get(self, visit: Visit, price_id: int) -> Reply:
        price = self.services.prices.get(organization_id=visit.organization_id, price_id=price_id)
        return confirm(
            visit,
            title=f"Remove the price of {price.model[:100]}?",
            text="Its calls get the catalogue's price, or none. This applies to stored sessions, too.",
            button="Remove the price",
            back=_path(visit),
        )

    def post(self, visit: Visit, price_id: int) -> Reply:
        self.services.prices.remove(organization_id=visit.organization_id, price_id=price_id, actor=visit.actor)
        return Redirect(_path(visit), "The price is removed.")


def own_price(form: Form) -> OwnPrice:
    """Return the price of the form; raises `Invalid` like the API."""
    sent = {"model": form.text("model"), "provider": form.text("provider")}
    prices = {name: form.number_if_given(name, label) for name, _, label, _ in PRICES}
    price: OwnPrice = load(
        ModelPriceSchema(), sent | {name: value for name, value in prices.items() if value is not None}
    )
    return price


def _filled(visit: Visit, chosen: ModelPrice | None) -> dict[str, str]:
    """Return the texts of the form's fields: the sent ones, or the ones of the price to change."""
    if visit.problem or chosen is None:
        names = ("model", "provider", *(name for name, *_ in PRICES))
        return {name: visit.sent.text(name, visit.query.get(name, "")) for name in names}
    values = {name: getattr(chosen, column) for name, column, *_ in PRICES}
    shown = {name: "" if value is None else f"{value:.15g}" for name, value in values.items()}
    return {"model": chosen.model, "provider": chosen.provider, **shown}


def _path(visit: Visit) -> str:
    return f"{visit.base}/settings/models/prices"
