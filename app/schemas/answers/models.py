"""Language models and vendors' credentials, as answers show them."""

from __future__ import annotations

from app.schemas.answers.prompts import LanguageModel
from app.schemas.answers.shapes import boolean, choice, many, shape, text, time
from config.settings import VENDOR_VARIABLES

Model = shape(
    "Model",
    {"enabled": boolean(), "isDefault": boolean(), "own": boolean(), "baseUrl": text(required=False)},
    LanguageModel,
)
Models = shape("Models", {"models": many(Model)})
Credential = shape(
    "StoredCredential",
    {
        "vendor": choice(*VENDOR_VARIABLES),
        "source": choice("organization", "instance"),
        "lastFour": text(),
        "baseUrl": text(),
        "setAt": time(allow_none=True),
    },
)
Credentials = shape("Credentials", {"credentials": many(Credential)})
Checked = shape("CheckedCredential", {"model": text()})
