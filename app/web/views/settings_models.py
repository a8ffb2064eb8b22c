"""Settings: the organization's models, including custom models, and the credentials of vendors."""

from __future__ import annotations

from typing import Any

from app.errors import Conflict, Invalid, NotFound, ProviderError, require
from app.providers.vendors import VENDORS
from app.schemas.base import load
from app.schemas.language_models import OwnModelSchema
from app.services.language_models.service import OwnModel
from app.web import labels
from app.web.cookies import Flash
from app.web.forms import Form
from app.web.page import Redirect, Reply, SettingsPage, confirm, show
from app.web.visit import Visit
from config.settings import VENDOR_VARIABLES

NUMBERS = (
    ("promptPrice", "Input price"),
    ("completionPrice", "Output price"),
    ("contextTokensMax", "Context"),
    ("completionTokensMax", "Longest answer"),
)
CHANGES: dict[str, dict[str, Any]] = {
    "enable": {"disabled": False},
    "disable": {"disabled": True},
    "default": {"is_default": True},
}


class ModelsPage(SettingsPage):
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        models = self.services.models.list(organization_id=visit.organization_id)
        ordered = sorted((model for model in models if not model.retired), key=lambda model: (model.vendor, model.name))
        lacking = self.services.credentials.lacking(visit.organization_id, ordered)
        silent = [model for model in ordered if model.id in lacking]
        return show(
            "settings_models.html",
            models=[model for model in ordered if model.id not in lacking],
            silent=silent,
            default_is_silent=any(model.is_default for model in silent),
            vendors=VENDORS,
            variables=VENDOR_VARIABLES,
            unpriced=len(self.services.observed.unpriced(project_id=visit.project_id)),
        )

    def post(self, visit: Visit) -> Reply:
        """Add a custom model."""
        model = own_model(visit.form)
        self.services.own_models.put(organization_id=visit.organization_id, model=model, actor=visit.actor)
        # Without a fragment here the browser would keep #own from the form's address.
        return Redirect(f"{visit.base}/settings/models#main", f"{model.name} can be used in prompts.")


class ModelPage(SettingsPage):
    def post(self, visit: Visit, model_id: int) -> Reply:
        change = CHANGES[visit.form.choice("do", CHANGES)]
        self.services.models.choose(
            organization_id=visit.organization_id, model_id=model_id, actor=visit.actor, **change
        )
        return Redirect(f"{visit.base}/settings/models", "The model is changed.")


class RemoveModel(SettingsPage):
    """Removes a custom model. Models of the catalogue can't be removed."""

    def get(self, visit: Visit, model_id: int) -> Reply:
        models = self.services.models.list(organization_id=visit.organization_id)
        custom = next((model for model in models if model.id == model_id and model.organization_id), None)
        stored = require(custom, "The organization has no such custom model.")
        return confirm(
            visit,
            title=f"Remove the model “{stored.name}”?",
            text="Prompts that name it can't be run until they name another model. Its answers stay in the logs.",
            button="Remove the model",
            back=f"{visit.base}/settings/models",
        )

    def post(self, visit: Visit, model_id: int) -> Reply:
        self.services.own_models.remove(organization_id=visit.organization_id, model_id=model_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/models", "The model is removed.")


def own_model(form: Form) -> OwnModel:
    """Return the model of the form; raises `Invalid` like the API."""
    texts = {name: form.text(name) for name in ("name", "baseUrl", "description")}
    model: OwnModel = load(OwnModelSchema(), texts | {name: form.number(name, label) for name, label in NUMBERS})
    return model


class CredentialsPage(SettingsPage):
    """The keys for calls to vendors. Stored keys are never shown again."""

    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        stored = {credential.vendor: credential for credential in self.services.credentials.list(visit.organization_id)}
        chosen = visit.sent.text("vendor", visit.query.get("vendor", ""))
        choices = [(name, vendor.title) for name, vendor in VENDORS.items()]
        return show(
            "settings_credentials.html",
            stored=stored,
            vendors=VENDORS,
            variables=VENDOR_VARIABLES,
            choices=choices,
            vendor=chosen,
        )

    def post(self, visit: Visit) -> Reply:
        form = visit.form
        key, base_url = form.text("api_key").strip(), form.text("base_url").strip()
        self.services.credentials.set(
            visit.organization_id, form.text("vendor"), api_key=key, base_url=base_url, actor=visit.actor
        )
        return Redirect(_credentials(visit), "The credential is stored. Check it to see that it works.")


class CheckCredential(SettingsPage):
    """Checks a credential: asks the vendor's cheapest model for a word."""

    def post(self, visit: Visit, vendor: str) -> Reply:
        try:
            model = self.services.models.cheapest(organization_id=visit.organization_id, vendor=vendor)
            self.services.credentials.check(visit.organization_id, model)
        except (Conflict, ProviderError, Invalid) as error:
            return Redirect(_credentials(visit), Flash(str(error), "problem"))
        return Redirect(_credentials(visit), f"{model.name} answered: the credential works.")


class ClearCredential(SettingsPage):
    def get(self, visit: Visit, vendor: str) -> Reply:
        if vendor not in labels.VENDORS:
            raise NotFound("There is no such vendor.")
        return confirm(
            visit,
            title=f"Remove the credential for {labels.VENDORS[vendor]}?",
            text="The key is lost here. Prompts on this vendor's models fail until another one is stored, unless the "
            "server's environment has one.",
            button="Remove the credential",
            back=_credentials(visit),
        )

    def post(self, visit: Visit, vendor: str) -> Reply:
        self.services.credentials.clear(visit.organization_id, vendor, actor=visit.actor)
        return Redirect(_credentials(visit), "The credential is removed.")


def _credentials(visit: Visit) -> str:
    return f"{visit.base}/settings/credentials"
