"""The editor: its choices, a draft as texts of its fields, the API's body for a sent form, and the preview."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.providers.vendors import EFFORTS
from app.services.prompts.service import PromptView, RenderedVersion
from app.web import labels
from app.web.filters import pretty
from app.web.forms import Form
from app.web.presenters.diffs import DiffRow, diff_rows

NUMBERS = ("temperature", "max_tokens", "top_p", "seed")
CONFIG = (*NUMBERS, "reasoning_effort", "response_format", "json_schema", "stop", "tools")
CHOICES = {
    "efforts": [("", "Model's default"), *((effort, effort) for effort in EFFORTS)],
    "responses": [("", "Text"), ("json_object", "JSON object"), ("json_schema", "JSON by a schema")],
    "assertions": [
        ("STRICT", "Strict: by rules; recorded answers by their meaning"),
        ("AI", "AI: a judge model decides"),
        ("MANUAL", "Manual: a person decides"),
    ],
}
# The form's fields, and their names in the list of differences.
FIELD_LABELS = {
    "name": "the name",
    "model": "the model",
    "fallback": "the second model",
    "config": "parameters or tools",
    "assertion_type": "how answers are checked",
    "assertion_value": "what the judge checks",
    "placeholders": "placeholders",
}
_SPACED = re.compile(r"\{\{(?!\w{1,64}\}\})[ \t]{0,20}([A-Za-z0-9_]{1,64})[ \t]{0,20}\}\}", re.ASCII)
_PLACEHOLDER = re.compile(r"placeholder\.(\d{1,4})\.key")


@dataclass(frozen=True, slots=True)
class ValueFields:
    name: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class PlaceholderFields:
    """`default` is the index of the default value as text, or ""."""

    key: str = ""
    description: str = ""
    values: tuple[ValueFields, ...] = ()
    default: str = ""


@dataclass(frozen=True, slots=True)
class PromptFields:
    """The texts in the editor. `config` has a text for each name in `CONFIG`; "" means the model's default.

    `fallback` is the model that is called if `model` fails, or "".
    """

    name: str
    value: str
    model: str
    fallback: str
    config: dict[str, str]
    assertion_type: str
    assertion_value: str
    placeholders: tuple[PlaceholderFields, ...]

    def with_values(self) -> PromptFields:
        """Return the fields without placeholders that have no value: they can't be stored yet."""
        return replace(self, placeholders=tuple(placeholder for placeholder in self.placeholders if placeholder.values))

    def with_blanks(self) -> PromptFields:
        """Return the fields with an empty row for another value of each placeholder, and for another placeholder."""
        more = (replace(placeholder, values=(*placeholder.values, ValueFields())) for placeholder in self.placeholders)
        return replace(self, placeholders=(*more, PlaceholderFields(values=(ValueFields(),), default="0")))


def fields_of(view: PromptView) -> PromptFields:
    """Return the fields of the stored draft."""
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
    """Return the fields of a sent form without empty rows."""
    indices = sorted({int(match[1]) for name in form.fields if (match := _PLACEHOLDER.fullmatch(name))})
    placeholders = (_placeholder(form, f"placeholder.{index}") for index in indices)
    return PromptFields(
        name=form.text("name"),
        value=form.text("value"),
        model=form.text("model"),
        fallback=form.text("fallback"),
        config={key: form.text(key) for key in CONFIG},
        assertion_type=form.text("assertion_type", "STRICT"),
        assertion_value=form.text("assertion_value"),
        placeholders=tuple(
            placeholder for placeholder in placeholders if placeholder.key.strip() or placeholder.values
        ),
    )


def change_body(fields: PromptFields, stored: PromptFields) -> dict[str, Any]:
    """Return the API's body for the change. Unchanged models are left out: they may be disabled by now.

    Raises `Invalid` for a parameter that is not a number or not JSON.
    """
    body: dict[str, Any] = {
        "name": fields.name,
        "value": fields.value,
        "languageModelConfig": {key: _config_value(key, text) for key, text in fields.config.items() if text.strip()},
        "placeholders": [_placeholder_body(placeholder) for placeholder in fields.placeholders],
        "assertionType": fields.assertion_type,
        "assertionValue": fields.assertion_value,
    }
    if fields.model != stored.model:
        body["languageModelName"] = fields.model
    if fields.fallback != stored.fallback:
        body["fallbackModelName"] = fields.fallback
    return body


def _placeholder(form: Form, prefix: str) -> PlaceholderFields:
    rows = zip(form.texts(f"{prefix}.name"), form.texts(f"{prefix}.content"), strict=False)
    values = {str(index): ValueFields(*row) for index, row in enumerate(rows) if any(text.strip() for text in row)}
    default = form.text(f"{prefix}.default")
    return PlaceholderFields(
        key=form.text(f"{prefix}.key").strip(),
        description=form.text(f"{prefix}.description"),
        values=tuple(values.values()),
        default=str(list(values).index(default)) if default in values else "",
    )


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


@dataclass(frozen=True, slots=True)
class RenderedPreview:
    """`choices` are (key, options, chosen) of placeholders with several values.

    `undefined`, `valueless`, `unused` and `empty` are keys of placeholders. `spaced` are keys written with spaces
    between the braces, which therefore are not placeholders. `problem` is the reason why nothing is rendered.
    """

    choices: Sequence[tuple[str, list[tuple[str, str]], str]]
    instruction: str = ""
    undefined: Sequence[str] = ()
    valueless: Sequence[str] = ()
    unused: Sequence[str] = ()
    empty: Sequence[str] = ()
    spaced: Sequence[str] = ()
    problem: str = ""

    @property
    def tokens(self) -> int:
        """The approximate number of tokens: one for four bytes of English."""
        return -(-len(self.instruction.encode()) // 4)


def preview_of(
    prompt: RenderedVersion | None, fields: PromptFields, selections: Mapping[str, str], problem: str = ""
) -> RenderedPreview:
    """Return the preview of the editor's fields with the values that are selected, {placeholder's key: value's name}.

    `prompt` is the rendered draft; None if it could not be rendered, which `problem` explains.
    """
    several = [placeholder for placeholder in fields.placeholders if len(placeholder.values) > 1]
    choices = [(placeholder.key, _options(placeholder), selections.get(placeholder.key, "")) for placeholder in several]
    if prompt is None:
        return RenderedPreview(choices, problem=problem)
    rendered = prompt.rendered
    valueless = dict.fromkeys(placeholder.key for placeholder in fields.placeholders if not placeholder.values)
    return RenderedPreview(
        choices,
        instruction=rendered.instruction,
        undefined=[key for key in rendered.undefined if key not in valueless],
        valueless=list(valueless),
        unused=[
            placeholder.key
            for placeholder in fields.placeholders
            if placeholder.values and placeholder.key not in rendered.resolved
        ],
        empty=[key for key, name in rendered.resolved.items() if name is None],
        spaced=list(dict.fromkeys(_SPACED.findall(fields.value))),
    )


def _options(placeholder: PlaceholderFields) -> list[tuple[str, str]]:
    default = placeholder.values[int(placeholder.default)].name if placeholder.default else "nothing"
    return [("", f"Default: {default}"), *((value.name, value.name) for value in placeholder.values)]


def draft_state(newest: str | None, *, committed: bool) -> labels.Badge:
    """Return the badge of a draft: `newest` is the newest version's hash, `committed` if the draft equals it."""
    if newest is None:
        return "never committed", ""
    return ("committed", "ok") if committed else ("changed since", "warn")


def model_choices(models: Sequence[LanguageModel], lacking: Container[int], current: str = "") -> list[tuple[str, str]]:
    """Return the usable models, those `lacking` a key last. The current model comes first if it is not usable."""
    usable = sorted((model for model in models if model.usable), key=lambda model: model.id in lacking)
    names = [
        (model.name, labels.model(model.name, model.vendor) + (" (no key)" if model.id in lacking else ""))
        for model in usable
    ]
    return names if current in {"", *dict(names)} else [(current, f"{current}, not enabled"), *names]


def edited(fields: PromptFields, do: str) -> PromptFields:
    """Return the fields after a button was pressed: `define.<key>` adds a placeholder, `remove.<index>` removes one."""
    action, _, name = do.partition(".")
    if action == "define":
        return replace(fields, placeholders=(*fields.placeholders, PlaceholderFields(key=name, default="0")))
    if action == "remove":
        left = tuple(placeholder for index, placeholder in enumerate(fields.placeholders) if str(index) != name)
        return replace(fields, placeholders=left)
    return fields


def differences(stored: PromptFields, sent: PromptFields) -> tuple[Sequence[DiffRow], list[str]]:
    """Return the diff of the two texts, and the names of other fields that differ."""
    return diff_rows(stored.value, sent.value), other_changes(stored, sent)


def other_changes(stored: PromptFields, sent: PromptFields) -> list[str]:
    """Return the names of fields that differ, except the text."""
    return [label for name, label in FIELD_LABELS.items() if getattr(stored, name) != getattr(sent, name)]
