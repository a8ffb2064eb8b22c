"""What callers ask to be made of a prompt, and whether its content may be so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.errors import Invalid
from app.rendering.placeholders import Placeholder, filled_length
from app.rendering.render import InstructionFormat
from app.services.prompts.content import PromptContent
from app.services.prompts.model_config import check_ranges, without_defaults

AssertionType = Literal["STRICT", "AI", "MANUAL"]
# Placeholders can repeat a long value thousands of times: 70,000 slots of 1 MB would be 70 GB. In characters; as JSON
# or XML, in UTF-8, with its escapes, this is what a MEDIUMTEXT and a packet are sure to hold.
FILLED_MAX = 2_000_000


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """`model_name` None takes the organization's default model; `config` has just the keys that were sent.

    `fallback_name` names the model that is asked when the first fails. Without `commit` it is a draft.
    """

    name: str
    value: str
    model_name: str | None = None
    fallback_name: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    instruction_format: InstructionFormat = "XML"
    placeholders: tuple[Placeholder, ...] = ()
    commit: bool = True


@dataclass(frozen=True, slots=True)
class DraftChange:
    """What None stands for stays as it is; a config or a list of placeholders replaces the whole of the old one.

    `fallback_name` is "" for none.
    """

    name: str | None = None
    value: str | None = None
    model_name: str | None = None
    fallback_name: str | None = None
    config: dict[str, Any] | None = None
    placeholders: tuple[Placeholder, ...] | None = None
    assertion_type: AssertionType | None = None
    assertion_value: str | None = None


@dataclass(frozen=True, slots=True)
class Author:
    """The member of the organization who commits."""

    id: int
    name: str


def checked(content: PromptContent) -> PromptContent:
    """The content in the form that is stored; `Invalid` naming what its model or our limits don't allow."""
    check_ranges(content.config, content.model)
    if content.fallback:
        if content.fallback.id == content.model.id:
            raise Invalid("fallbackModelName: Must be another model than the prompt's own.")
        check_ranges(content.config, content.fallback)
    _check_filled_size(content)
    return replace(content, config=without_defaults(content.config, content.model))


def _check_filled_size(content: PromptContent) -> None:
    longest = {
        placeholder.key: max(len(value.content) for value in placeholder.values) for placeholder in content.placeholders
    }
    size = filled_length(content.value, longest)
    if size > FILLED_MAX:
        raise Invalid(f"placeholders: Filled in, the text can be {size} characters long; the limit is {FILLED_MAX}.")
