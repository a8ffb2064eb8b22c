"""The editor's form, there and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from reprise_formats.formats import percent

from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.models.prompts import PromptHead
from app.rendering.render import Placeholder, PlaceholderValue
from app.services.prompts.content import PromptContent, parse_placeholders
from app.services.prompts.service import PromptView
from app.web.forms import Form
from app.web.presenters.prompt_editor import PromptFields, change_body, fields_of, fields_sent, model_choices

NOW = datetime(2030, 1, 1, tzinfo=UTC)
CONFIG: dict[str, Any] = {
    "temperature": 0.25,
    "max_tokens": 12,
    "seed": -7,
    "stop": ["END", "two words"],
    "response_format": "json_schema",
    "json_schema": {"type": "object"},
    "reasoning_effort": "low",
    "tools": [{"name": "look", "parameters": {"type": "object"}}],
}
PLACEHOLDERS = (
    Placeholder("tone", (PlaceholderValue("a", ""), PlaceholderValue("b", "B\nb", is_default=True)), "How"),
    Placeholder("none", (PlaceholderValue("only", "x"),)),
)


def view(config: dict[str, Any], placeholders: tuple[Placeholder, ...]) -> PromptView:
    model = LanguageModel(1, 0, "BUILTIN", "echo", "", 0, 0, 1000, 100, "", {}, False, NOW, NOW)
    head = PromptHead(7, 1, 1, "A prompt", "XML", "STRICT", "", 1, 3, None, False, NOW, NOW, None, {})
    return PromptView(head, PromptContent(7, "A prompt", None, "Say {{tone}}", "XML", model, config, placeholders))


def form_of(fields: PromptFields) -> Form:
    """Return the form that a browser sends for the fields, with the empty rows that the page adds."""
    sent = {
        "name": [fields.name],
        "value": [fields.value],
        "model": [fields.model],
        "fallback": [fields.fallback],
        "assertion_type": [fields.assertion_type],
        "assertion_value": [fields.assertion_value],
    }
    sent |= {key: [text] for key, text in fields.config.items()}
    for at, placeholder in enumerate(fields.with_blanks().placeholders):
        prefix = f"placeholder.{at}"
        sent[f"{prefix}.key"] = [placeholder.key]
        sent[f"{prefix}.description"] = [placeholder.description]
        sent[f"{prefix}.name"] = [value.name for value in placeholder.values]
        sent[f"{prefix}.content"] = [value.content for value in placeholder.values]
        sent[f"{prefix}.default"] = [placeholder.default]
    return Form(sent)


@pytest.mark.parametrize("config", [{}, CONFIG])
@pytest.mark.parametrize("placeholders", [(), PLACEHOLDERS])
def test_a_form_sent_back_unchanged_has_the_same_meaning(
    config: dict[str, Any], placeholders: tuple[Placeholder, ...]
) -> None:
    fields = fields_of(view(config, placeholders))

    assert fields_sent(form_of(fields)) == fields
    body = change_body(fields, fields)
    assert body["languageModelConfig"] == config
    assert parse_placeholders(body["placeholders"]) == placeholders
    assert not body.keys() & {"languageModelName", "fallbackModelName"}


def test_another_model_is_named() -> None:
    stored = fields_of(view({}, ()))
    body = change_body(replace(stored, model="other", fallback="second"), stored)
    assert (body["languageModelName"], body["fallbackModelName"]) == ("other", "second")


def test_a_removed_second_model_is_removed() -> None:
    stored = fields_of(view({}, ()))
    assert change_body(stored, replace(stored, fallback="second"))["fallbackModelName"] == ""


def test_a_default_follows_its_value_when_rows_before_it_are_emptied() -> None:
    sent = {"key": ["k"], "name": ["", "b", "c"], "content": ["", "B", "C"], "default": ["2"]}
    form = Form({f"placeholder.4.{name}": values for name, values in sent.items()})

    (placeholder,) = fields_sent(form).placeholders

    assert [value.name for value in placeholder.values] == ["b", "c"]
    assert placeholder.default == "1"


@pytest.mark.parametrize("default", ["0", "9", "x", "-1", ""])
def test_a_default_that_is_no_kept_row_is_none(default: str) -> None:
    sent = {"key": ["k"], "name": ["", "b"], "content": ["", "B"], "default": [default]}

    (placeholder,) = fields_sent(Form({f"placeholder.0.{name}": values for name, values in sent.items()})).placeholders

    assert placeholder.default == ""


@pytest.mark.parametrize(
    ("key", "text"), [("temperature", "warm"), ("seed", "1,5"), ("tools", "{"), ("json_schema", "x")]
)
def test_what_is_no_number_and_no_json_is_named(key: str, text: str) -> None:
    fields = fields_sent(Form({key: [text]}))

    with pytest.raises(Invalid, match=rf"languageModelConfig\.{key}: Must be"):
        change_body(fields, fields)


def test_only_chosen_values_are_selected() -> None:
    assert Form({"use.a": ["x"], "use.b": [""], "other": ["y"]}).selections() == {"a": "x"}


@pytest.mark.parametrize(("share", "said"), [(0, "0 %"), (1, "100 %"), (0.001, "1 %"), (0.999, "99 %"), (0.5, "50 %")])
def test_only_all_is_a_hundred_percent_and_only_nothing_is_none(share: float, said: str) -> None:
    assert percent(share) == said


def test_models_without_a_key_are_offered_last() -> None:
    models = [
        LanguageModel(number, 0, "OPENAI", name, "", 0, 0, 1000, 100, "", {}, False, NOW, NOW, disabled=name == "off")
        for number, name in enumerate(["silent", "off", "ready"])
    ]

    choices = model_choices(models, lacking={0, 1})

    assert choices == [("ready", "ready, OpenAI"), ("silent", "silent, OpenAI (no key)")]
    assert model_choices(models, {0, 1}, current="off")[0] == ("off", "off, not enabled")
