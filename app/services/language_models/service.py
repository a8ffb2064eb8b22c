"""Language models: the catalogue in the database, organizations' own models, and their choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import orjson
from sqlalchemy import Connection

from app.concurrency.caches import TimedCache
from app.database.transactions import Database, retried
from app.errors import Conflict, Invalid, NotFound, require
from app.models import audit_log, language_models, organizations
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.language_models import LanguageModel
from app.providers.catalogue import Catalogue, ModelEntry
from app.providers.vendors import CUSTOM
from app.services.language_models.credentials import address_details, check_base_url
from app.services.language_models.substitutes import substitute
from app.timestamps import Now

# Seconds for which a process may use a model that another process has changed.
CACHE_S = 3.0
FALLBACK = "echo"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelService:
    """The models that an organization can see: the models of the catalogue, and its own."""

    database: Database
    now: Now
    catalogue: Catalogue
    cache: TimedCache[LanguageModel] = field(default_factory=partial(TimedCache, CACHE_S), init=False)

    @retried
    def sync_catalogue(self) -> None:
        """Update the shared models from the catalogue; missing models are retired, never deleted."""
        entries = [_columns(entry) for entry in self.catalogue.values()]
        with self.database.write() as connection:
            language_models.put_catalogue(connection, entries=entries, now=self.now())
        self.cache.clear()

    def list(self, *, organization_id: int) -> list[LanguageModel]:
        """List all models that the organization can see, including disabled and retired ones, by vendor and name."""
        with self.database.read() as connection:
            return _list(connection, organization_id)

    def get(self, *, organization_id: int, model_id: int) -> LanguageModel:
        """Return a model; `NotFound` if the organization can't see it, or if it is retired."""
        models = self.list(organization_id=organization_id)
        model = next((entry for entry in models if entry.id == model_id and not entry.retired), None)
        return require(model, "There is no such model.")

    def cheapest(self, *, organization_id: int, vendor: str) -> LanguageModel:
        """Return the vendor's usable model with the lowest prices; raises `Conflict` if there is none."""
        usable = [m for m in self.list(organization_id=organization_id) if m.vendor == vendor and m.usable]
        if not usable:
            raise Conflict("There is no model to ask: add or enable one of this vendor first.")
        return min(usable, key=lambda model: (model.completion_price, model.prompt_price, model.name))

    @retried
    def choose(
        self,
        *,
        organization_id: int,
        model_id: int,
        disabled: bool | None = None,
        is_default: bool | None = None,
        actor: Actor = SYSTEM,
    ) -> None:
        """Disable or enable a model for the organization, or make it the default; None changes nothing."""
        chosen = {"disabled": disabled, "is_default": is_default}
        values = {name: value for name, value in chosen.items() if value is not None}
        with self.database.write() as connection:
            model = _find(connection, organization_id, model_id)
            if is_default and (model.disabled if disabled is None else disabled):
                raise Conflict(f"Enable {model.name} before you make it the default.")
            language_models.put_choice(connection, organization_id=organization_id, model_id=model_id, values=values)
            audit_log.note(
                connection, self.now(), actor, Action.MODEL_CHANGED, model.name, values, organization_id=organization_id
            )
        self.cache.clear()

    def read(self, connection: Connection, *, organization_id: int, model_id: int) -> LanguageModel:
        """Return the model of a prompt, usable or not, at most `CACHE_S` old."""

        def read() -> LanguageModel:
            stored = language_models.find_model(connection, organization_id=organization_id, model_id=model_id)
            return require(stored, "There is no such model.")

        return self.cache.get_or_read((organization_id, model_id), read)

    def known(self, *, organization_id: int, model_id: int) -> LanguageModel | None:
        """Return the model from the cache; None if `read` has to query the database."""
        return self.cache.get((organization_id, model_id))

    def default_or_first(self, connection: Connection, *, organization_id: int) -> LanguageModel:
        """Return the default model, or else any usable one; raises `Conflict` if there is none."""
        usable = [model for model in _list(connection, organization_id) if model.usable]
        usable.sort(key=lambda model: (not model.is_default, model.id))
        if not usable:
            raise Conflict("There is no model that prompts could use: add or enable one first.")
        return usable[0]

    def named(
        self, connection: Connection, *, organization_id: int, name: str | None, field: str = "languageModelName"
    ) -> LanguageModel:
        """Return the usable model of that name, by default the default model; `Invalid` names `field` without one."""
        if name is None:
            if model := next(
                (candidate for candidate in _list(connection, organization_id) if candidate.is_default), None
            ):
                return model
            raise Invalid("languageModelName: This organization has no default model; name the one to use.")
        rows = language_models.find_models_named(connection, organization_id=organization_id, name=name)
        usable = [model for model in rows if model.usable and model.name == name]
        if not usable:
            refusal = f"{field}: The model {name!r} is not enabled for this organization"
            if any(model.name == name for model in rows):
                raise Invalid(f"{refusal}.")
            raise Invalid(f"{refusal}: Reprise does not know it.{_advice(name, _list(connection, organization_id))}")
        return usable[0]


def _advice(name: str, models: Sequence[LanguageModel]) -> str:
    """Return what to do about a name that is not known, with the nearest one of its family if there is one."""
    vendors = dict.fromkeys((model.vendor for model in models), "")
    nearest = substitute(name, models, vendors, other_vendors=False)
    return f"{f' The nearest is {nearest.name!r}.' if nearest else ''} Add other models on the page Settings, Models."


def is_fallback(model: LanguageModel) -> bool:
    """Return whether a model is the builtin default, which needs no credential."""
    return (model.vendor, model.name) == ("BUILTIN", FALLBACK)


def _list(connection: Connection, organization_id: int) -> list[LanguageModel]:
    """List the models; the default is the organization's choice, else the builtin that needs no credential."""
    models = language_models.list_models(connection, organization_id=organization_id)
    usable = [model for model in models if model.usable]
    default = next((model for model in usable if model.is_default), None) or next(filter(is_fallback, usable), None)
    return [replace(model, is_default=model is default) for model in models]


def _find(connection: Connection, organization_id: int, model_id: int) -> LanguageModel:
    model = language_models.find_model(connection, organization_id=organization_id, model_id=model_id)
    if model is None or model.retired:
        raise NotFound("There is no such model.")
    return model


_DETAILS = ("prices", "longPrompt", "temperature", "capabilities", "efforts", "refuses", "pricesAsOf")


def _columns(entry: ModelEntry) -> dict[str, Any]:
    facts: dict[str, Any] = orjson.loads(msgspec.json.encode(entry))
    details = {key: facts[key] for key in _DETAILS}
    return {
        "vendor": entry.vendor,
        "name": entry.name,
        "prompt_price": float(entry.prices.input),
        "completion_price": float(entry.prices.output),
        "context_tokens_max": entry.context_tokens_max,
        "completion_tokens_max": entry.completion_tokens_max,
        "description": entry.description,
        "details": details | {key: sorted(details[key]) for key in ("capabilities", "refuses")},
    }


MODEL_NAME_MAX, OWN_MODELS_MAX = 128, 1_000
TOKENS_MAX = 2**31 - 1
PRICE_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """A model to add: `name` as the endpoint spells it, prices in USD per million tokens.

    An empty base URL means the credential's.
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
    """Adds and retires models of an organization."""

    database: Database
    now: Now

    @retried
    def put(self, *, organization_id: int, model: OwnModel, actor: Actor) -> tuple[int, bool]:
        """Add or change the model of that name; returns its id, and whether it was added.

        Raises `Invalid`, also beyond `OWN_MODELS_MAX`.
        """
        _check(model)
        values = asdict(model) | {"details": {}}
        name = values.pop("name")
        now, action, details = self.now(), Action.MODEL_ADDED, address_details(model.base_url)
        with self.database.write() as connection:
            organizations.lock_organization(connection, organization_id)
            model_id, is_new = language_models.put_own_model(
                connection, organization_id=organization_id, vendor=CUSTOM, name=name, values=values, now=now
            )
            count = language_models.count_own_models(connection, organization_id=organization_id) if is_new else 0
            if count > OWN_MODELS_MAX:
                raise Invalid(f"name: An organization has at most {OWN_MODELS_MAX:,} models, with the removed ones.")
            audit_log.note(connection, now, actor, action, name, organization_id=organization_id, details=details)
        return model_id, is_new

    @retried
    def remove(self, *, organization_id: int, model_id: int, actor: Actor) -> None:
        """Retire a model, so that no prompt can use it; `NotFound` for a model of the catalogue."""
        now, key = self.now(), {"organization_id": organization_id, "model_id": model_id}
        with self.database.write() as connection:
            model = language_models.find_model(connection, **key)
            if model is None or not language_models.retire_own_model(connection, **key, now=now):
                raise NotFound("The organization has added no such model.")
            action, details = Action.MODEL_REMOVED, address_details(model.base_url)
            audit_log.note(connection, now, actor, action, model.name, organization_id=organization_id, details=details)


def _check(model: OwnModel) -> None:
    if not 1 <= len(model.name) <= MODEL_NAME_MAX or not model.name.isprintable() or model.name != model.name.strip():
        raise Invalid(f"name: Use 1 to {MODEL_NAME_MAX} characters, as the endpoint spells it.")
    check_base_url(model.base_url)
