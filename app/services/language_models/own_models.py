"""Models of an organization's own: whatever answers in OpenAI's format at a base URL."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from sqlalchemy import Connection

from app.db import Database
from app.errors import Invalid, NotFound
from app.models import audit_log, language_models
from app.models.audit_log import Action, Actor
from app.services.language_models.credentials import CUSTOM, check_base_url
from app.timestamps import Now

NAME_MAX = 128
TOKENS_MAX = 2**31 - 1
PRICE_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """`name` as the endpoint knows it; prices in USD per million tokens; base URL "" is that of the credential."""

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
        """Add a model, or change the one of that name: its id, and whether it was added. `Invalid` if it can't be."""
        _check(model)
        values = asdict(model)
        name = values.pop("name")
        with self.database.write() as connection:
            put = language_models.put_own_model(
                connection,
                organization_id=organization_id,
                vendor=CUSTOM,
                name=name,
                values=values | {"details": {}},
                now=self.now(),
            )
            self._note(connection, organization_id, actor, Action.MODEL_ADDED, name, model.base_url)
        return put

    def remove(self, *, organization_id: int, model_id: int, actor: Actor) -> None:
        """No prompt can use it from now on; `NotFound` for a model of the catalogue."""
        with self.database.write() as connection:
            model = language_models.find_model(connection, organization_id=organization_id, model_id=model_id)
            retired = language_models.retire_own_model(
                connection, organization_id=organization_id, model_id=model_id, now=self.now()
            )
            if model is None or not retired:
                raise NotFound("The organization has no such model of its own.")
            self._note(connection, organization_id, actor, Action.MODEL_REMOVED, model.name, model.base_url)

    def _note(
        self, connection: Connection, organization_id: int, actor: Actor, action: Action, name: str, base_url: str
    ) -> None:
        details = {"baseUrl": base_url} if base_url else {}
        audit_log.note(connection, self.now(), actor, action, name, organization_id=organization_id, details=details)


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
