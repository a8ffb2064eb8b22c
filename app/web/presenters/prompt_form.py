"""The editor's form: a draft as texts in fields, and the body of the API that a sent form makes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import orjson

from app.errors import Invalid
from app.services.prompts.service import PromptView
from app.web.filters import pretty
from app.web.forms import Form

NUMBERS = ("temperature", "max_tokens", "top_p", "seed")
CONFIG = (*NUMBERS, "reasoning_effort", "response_format", "json_schema", "stop", "tools")
_PLACEHOLDER = re.compile(r"placeholder\.(\d{1,4})\.key")


@dataclass(frozen=True, slots=True)
class ValueFields:
    name: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class PlaceholderFields:
    """`default` is the index of the default value, as text; "" without one."""

    key: str = ""
    description: str = ""
    values: tuple[ValueFields, ...] = ()
    default: str = ""


@dataclass(frozen=True, slots=True)
class PromptFields:
    """The texts in the editor. `config` has a text for each of `CONFIG`, "" for the model's default.

    `fallback` is the model that is called when `model` fails, "" for none.
    """

    name: str
    value: str
    model: str
    fallback: str
    config: dict[str, str]
    assertion_type: str
    assertion_value: str
    placeholders: tuple[PlaceholderFields, ...]

    def with_blanks(self) -> PromptFields:
        """Add an empty row for one more value of each placeholder, and one for one more placeholder."""
        more = (replace(each, values=(*each.values, ValueFields())) for each in self.placeholders)
        return replace(self, placeholders=(*more, PlaceholderFields(values=(ValueFields(),), default="0")))


def fields_of(view: PromptView) -> PromptFields:
    """The fields of the stored draft."""
    content = view.content
    return PromptFields(
        name=view.head.name,
        value=content.value,
        model=content.model.name,
        fallback=content.fallback.name if content.fallback else "",
        config={key: _config_text(key, content.config.get(key)) for key in CONFIG},
        assertion_type=view.head.assertion_type,
        assertion_value=view.head.assertion_value,
        placeholders=tuple(
            PlaceholderFields(
                key=placeholder.key,
                description=placeholder.description,
                values=tuple(ValueFields(value.name, value.content) for value in placeholder.values),
                default=next((str(n) for n, value in enumerate(placeholder.values) if value.is_default), ""),
            )
            for placeholder in content.placeholders
        ),
    )


def fields_sent(form: Form) -> PromptFields:
    """The fields of a sent form, without the rows that were left empty."""
    indices = sorted({int(found[1]) for name in form.fields if (found := _PLACEHOLDER.fullmatch(name))})
    placeholders = (_placeholder(form, f"placeholder.{index}") for index in indices)
    return PromptFields(
        name=form.text("name"),
        value=form.text("value"),
        model=form.text("model"),
        fallback=form.text("fallback"),
        config={key: form.text(key) for key in CONFIG},
        assertion_type=form.text("assertion_type", "STRICT"),
        assertion_value=form.text("assertion_value"),
        placeholders=tuple(each for each in placeholders if each.key.strip() or each.values),
    )


def change_body(fields: PromptFields, stored: PromptFields) -> dict[str, Any]:
    """The body of the API's change, without models that stay: they may have been disabled since.

    `Invalid` for a parameter that is no number or no JSON.
    """
    body: dict[str, Any] = {
        "name": fields.name,
        "value": fields.value,
        "languageModelConfig": {key: _config_value(key, text) for key, text in fields.config.items() if text.strip()},
        "placeholders": [_placeholder_body(placeholder) for placeholder in fields.placeholders],
        "assertionType": fields.assertion_type,
        "assertionValue": fields.assertion_value,
    }
    models = {"languageModelName": "model", "fallbackModelName": "fallback"}
    changed = {
        key: getattr(fields, name) for key, name in models.items() if getattr(fields, name) != getattr(stored, name)
    }
    return body | changed


def _placeholder(form: Form, prefix: str) -> PlaceholderFields:
    names, contents = form.texts(f"{prefix}.name"), form.texts(f"{prefix}.content")
    rows = list(zip(names, contents, strict=False))
    kept = [index for index, (name, content) in enumerate(rows) if name.strip() or content.strip()]
    default = _index(form.text(f"{prefix}.default"))
    return PlaceholderFields(
        key=form.text(f"{prefix}.key").strip(),
        description=form.text(f"{prefix}.description"),
        values=tuple(ValueFields(*rows[index]) for index in kept),
        default=str(kept.index(default)) if default in kept else "",
    )


def _index(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _placeholder_body(placeholder: PlaceholderFields) -> dict[str, Any]:
    return {
        "key": placeholder.key,
        "description": placeholder.description,
        "values": [
            {"name": value.name, "content": value.content, "isDefault": str(index) == placeholder.default}
            for index, value in enumerate(placeholder.values)
        ],
    }


def _config_text(key: str, value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(value) if key == "stop" else pretty(value)


def _config_value(key: str, text: str) -> Any:
    if key in ("reasoning_effort", "response_format"):
        return text
    if key == "stop":
        return [line for line in text.split("\n") if line]
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        message = "Must be a number." if key in NUMBERS else f"Must be JSON: {error}"
        raise Invalid(f"languageModelConfig.{key}: {message}") from error
