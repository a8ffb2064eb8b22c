"""Parts of the editor: its choices, the rendered instruction, and what somebody else changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.models.language_models import LanguageModel
from app.services.prompts.service import RenderedPrompt
from app.web import labels
from app.web.presenters.prompt_form import PlaceholderFields, PromptFields

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
CHOICES = {
    "efforts": [
        ("", "Model's default"),
        *((one, one) for one in ("none", "minimal", "low", "medium", "high", "xhigh")),
    ],
    "responses": [("", "Text"), ("json_object", "JSON object"), ("json_schema", "JSON by a schema")],
    "assertions": [
        ("STRICT", "Strict: the same answer, JSON compared as JSON"),
        ("AI", "AI: a judge model decides"),
        ("MANUAL", "Manual: a person decides"),
    ],
}
# Field of the form, its name in the list of what is different.
FIELD_LABELS = {
    "name": "the name",
    "model": "the model",
    "fallback": "the second model",
    "config": "parameters or tools",
    "assertion_type": "how answers are checked",
    "assertion_value": "what answers must say",
    "placeholders": "placeholders",
}


@dataclass(frozen=True, slots=True)
class Preview:
    """`choices` are (key, options, chosen) of the placeholders that have several values.

    `undefined`, `unused` and `empty` are keys; `problem` says why nothing is rendered.
    """

    choices: Sequence[tuple[str, list[tuple[str, str]], str]]
    instruction: str = ""
    undefined: Sequence[str] = ()
    unused: Sequence[str] = ()
    empty: Sequence[str] = ()
    problem: str = ""


def preview_of(
    prompt: RenderedPrompt | None, fields: PromptFields, selections: Mapping[str, str], problem: str = ""
) -> Preview:
    several = [placeholder for placeholder in fields.placeholders if len(placeholder.values) > 1]
    choices = [(each.key, _options(each), selections.get(each.key, "")) for each in several]
    if prompt is None:
        return Preview(choices, problem=problem)
    rendered = prompt.rendered
    return Preview(
        choices,
        instruction=rendered.instruction,
        undefined=rendered.undefined_keys,
        unused=[each.key for each in fields.placeholders if each.key not in rendered.resolved],
        empty=[key for key, name in rendered.resolved.items() if name is None],
    )


def _options(placeholder: PlaceholderFields) -> list[tuple[str, str]]:
    default = placeholder.values[int(placeholder.default)].name if placeholder.default else "nothing"
    return [("", f"Default: {default}"), *((value.name, value.name) for value in placeholder.values)]


def draft_state(newest: str | None, *, committed: bool) -> labels.Badge:
    if newest is None:
        return "never committed", ""
    return ("committed", "ok") if committed else ("changed since", "warn")


def model_choices(models: Sequence[LanguageModel], current: str) -> list[tuple[str, str]]:
    """The models that can be used, and the current one before them if it can't."""
    names = [(model.name, labels.model(model.name, model.vendor)) for model in models if model.usable]
    return names if current in {"", *dict(names)} else [(current, f"{current}, not enabled"), *names]


def other_changes(stored: PromptFields, sent: PromptFields) -> list[str]:
    """The names of the fields that are different besides the text."""
    return [label for name, label in FIELD_LABELS.items() if getattr(stored, name) != getattr(sent, name)]
