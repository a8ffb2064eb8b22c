"""The editor: a draft with all that belongs to it, the instruction it makes, and the last try of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.models.language_models import LanguageModel
from app.models.runs import RunRow
from app.services.prompts.service import PromptView, RenderedPrompt
from app.web.presenters.diffs import DiffRow, diff_rows
from app.web.presenters.prompt_form import PromptFields, choices_of, fields_of
from app.web.presenters.runs import RunResult, run_result
from app.web.presenters.tabs import Tab, prompt_tabs
from app.web.presenters.vendors import with_vendor

EFFORTS = [("", "Model's default"), *((one, one) for one in ("none", "minimal", "low", "medium", "high", "xhigh"))]
RESPONSES = [("", "Text"), ("json_object", "JSON object"), ("json_schema", "JSON by a schema")]
ASSERTIONS = [
    ("STRICT", "Strict: the same answer, JSON compared as JSON"),
    ("AI", "AI: a judge model decides"),
    ("MANUAL", "Manual: a person decides"),
]
TOOLS_EXAMPLE = '[{"name": "get_order", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}]'


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of a placeholder's values is rendered: `options` are (name, words)."""

    key: str
    options: list[tuple[str, str]]
    chosen: str


@dataclass(frozen=True, slots=True)
class Preview:
    """`undefined`, `unused` and `empty` are keys; `problem` says why nothing is rendered."""

    choices: list[Choice]
    instruction: str = ""
    undefined: Sequence[str] = ()
    unused: Sequence[str] = ()
    empty: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Newer:
    """What somebody else saved meanwhile, beside what was sent now."""

    rows: list[DiffRow]
    others: list[str]


@dataclass(frozen=True, slots=True)
class EditorPage:
    """`unsaved`: what is shown was sent and is not stored. `newer` is there after a lost update."""

    tabs: list[Tab]
    id: int
    name: str
    state: str
    state_kind: str
    commit_hash: str | None
    can_commit: bool
    format: str
    etag: str
    fields: PromptFields
    models: list[tuple[str, str]]
    fallbacks: list[tuple[str, str]]
    preview: Preview
    unsaved: bool = False
    problem: str = ""
    question: str = ""
    message: str = ""
    run: RunResult | None = None
    newer: Newer | None = None
    efforts = EFFORTS
    responses = RESPONSES
    assertions = ASSERTIONS
    tools_example = TOOLS_EXAMPLE


@dataclass(frozen=True, slots=True)
class Sent:
    """What a form brought that was not taken: its fields are shown again."""

    fields: PromptFields
    question: str = ""
    message: str = ""
    problem: str = ""
    stale: bool = False


def editor_page(
    view: PromptView,
    newest: str | None,
    models: Sequence[LanguageModel],
    preview: Preview,
    base: str,
    *,
    sent: Sent | None = None,
    run: RunRow | None = None,
) -> EditorPage:
    """`newest` is the newest version's hash; `view` the draft as it is stored."""
    head, stored = view.head, fields_of(view)
    state, kind = _state(newest, committed=head.committed)
    fields = sent.fields if sent else stored
    return EditorPage(
        tabs=prompt_tabs(base, head.id, "edit"),
        id=head.id,
        name=head.name,
        state=state,
        state_kind=kind,
        commit_hash=newest,
        can_commit=not head.committed,
        format=head.instruction_format,
        etag=view.etag or "",
        fields=fields.with_blanks(),
        models=_models(models, fields.model),
        fallbacks=[("", "None: the run fails"), *_models(models, fields.fallback)],
        preview=preview,
        unsaved=fields != stored,
        problem=sent.problem if sent else "",
        question=sent.question if sent else run.question if run else "",
        message=sent.message if sent else "",
        run=run_result(run, base) if run else None,
        newer=_newer(stored, fields) if sent and sent.stale else None,
    )


def preview_of(
    rendered: RenderedPrompt | None, fields: PromptFields, selections: Mapping[str, str], problem: str = ""
) -> Preview:
    choices = [_choice(fields, key, names, selections.get(key, "")) for key, names in choices_of(fields)]
    if rendered is None:
        return Preview(choices, problem=problem)
    made = rendered.rendered
    return Preview(
        choices,
        instruction=made.instruction,
        undefined=made.undefined_keys,
        unused=[key for key in fields.keys if key not in made.resolved],
        empty=[key for key, name in made.resolved.items() if name is None],
    )


def _choice(fields: PromptFields, key: str, names: Sequence[str], chosen: str) -> Choice:
    placeholder = next(each for each in fields.placeholders if each.key == key)
    default = placeholder.values[int(placeholder.default)].name if placeholder.default else "nothing"
    return Choice(key, [("", f"Default: {default}"), *((name, name) for name in names)], chosen)


def _state(newest: str | None, *, committed: bool) -> tuple[str, str]:
    if newest is None:
        return "never committed", ""
    return ("committed", "ok") if committed else ("changed since", "warn")


def _models(models: Sequence[LanguageModel], current: str) -> list[tuple[str, str]]:
    names = [(model.name, with_vendor(model.name, model.vendor)) for model in models if model.usable]
    return names if current in {"", *dict(names)} else [(current, f"{current}, not enabled"), *names]


def _newer(stored: PromptFields, sent: PromptFields) -> Newer:
    """The text's difference, and in words what else is not the same."""
    words = {
        "name": "the name",
        "model": "the model",
        "fallback": "the second model",
        "config": "parameters or tools",
        "assertion_type": "how answers are checked",
        "assertion_value": "what answers must say",
        "placeholders": "placeholders",
    }
    others = [said for name, said in words.items() if getattr(stored, name) != getattr(sent, name)]
    return Newer(diff_rows(stored.value, sent.value), others)
