"""Models of an organization's own, served by endpoints in OpenAI's format."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from app.db import Database
from app.errors import Invalid, NotFound
from app.models import audit_log, language_models
from app.models.audit_log import Action, Actor
from app.services.language_models.credentials import CUSTOM, address_details, check_base_url
from app.timestamps import Now

NAME_MAX = 128
TOKENS_MAX = 2**31 - 1
PRICE_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """A model to add: `name` as the endpoint spells it, prices in USD per million tokens.

    An empty base URL stands for the credential's.
    """

    name: str
    base_url: str
    prompt_price: float
    completion_price: float
    context_tokens_max: int
    completion_tokens_max: int
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModelService:
    database: Database
    now: Now

    def put(self, *, organization_id: int, model: OwnModel, actor: Actor) -> tuple[int, bool]:
        """Add a model, or change the one of that name; returns its id, and whether it was added. Raises `Invalid`."""
        _check(model)
        values = asdict(model) | {"details": {}}
        name = values.pop("name")
        now, action, details = self.now(), Action.MODEL_ADDED, address_details(model.base_url)
        with self.database.write() as connection:
            put = language_models.put_own_model(
                connection, organization_id=organization_id, vendor=CUSTOM, name=name, values=values, now=now
            )
            audit_log.note(connection, now, actor, action, name, organization_id=organization_id, details=details)
        return put

    def remove(self, *, organization_id: int, model_id: int, actor: Actor) -> None:
        """Retire a model, so that no prompt can use it; `NotFound` for a model of the catalogue."""
        now, key = self.now(), {"organization_id": organization_id, "model_id": model_id}
        with self.database.write() as connection:
            model = language_models.find_model(connection, **key)
            if model is None or not language_models.retire_own_model(connection, **key, now=now):
                raise NotFound("The organization has no such model of its own.")
            action, details = Action.MODEL_REMOVED, address_details(model.base_url)
            audit_log.note(connection, now, actor, action, model.name, organization_id=organization_id, details=details)


def _check(model: OwnModel) -> None:
    if not 1 <= len(model.name) <= NAME_MAX or not model.name.isprintable() or model.name != model.name.strip():
        raise Invalid(f"name: Use 1 to {NAME_MAX} characters, as the endpoint spells it.")
    check_base_url(model.base_url)
    for field in ("prompt_price", "completion_price"):
        price = getattr(model, field)
        if not (math.isfinite(price) and 0 <= price <= PRICE_MAX):
            raise Invalid(f"{field}: Must be 0 to {PRICE_MAX:,} US dollars for a million tokens.")
    for field in ("context_tokens_max", "completion_tokens_max"):
        if not 1 <= getattr(model, field) <= TOKENS_MAX:
            raise Invalid(f"{field}: Must be a number of tokens of at least 1.")
