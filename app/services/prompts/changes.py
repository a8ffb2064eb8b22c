"""New prompts and changes of drafts, and the checks of their content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.errors import Invalid
from app.rendering.placeholders import Placeholder, filled_length
from app.rendering.render import InstructionFormat
from app.services.prompts.content import PromptContent
from app.services.prompts.model_config import check_ranges, without_defaults

AssertionType = Literal["STRICT", "AI", "MANUAL"]
# The characters of a prompt whose placeholders are filled in: a long value can be repeated thousands of times, and
# 70,000 slots of 1 MB would be 70 GB. As JSON or XML in UTF-8, escapes included, it fits a MEDIUMTEXT and a packet.
FILLED_MAX = 2_000_000


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """A prompt to create, which stays a draft without `commit`; `config` has just the keys that were sent.

    `model_name` None stands for the organization's default model; `fallback_name` is called when that model fails.
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
    """New values of a draft; None keeps the old one, and "" as `fallback_name` removes the fallback model.

    A config, or the placeholders, replace the old ones as a whole.
    """

    name: str | None = None
    value: str | None = None
    model_name: str | None = None
    fallback_name: str | None = None
    config: dict[str, Any] | None = None
    placeholders: tuple[Placeholder, ...] | None = None
    assertion_type: AssertionType | None = None
    assertion_value: str | None = None


def checked(content: PromptContent) -> PromptContent:
    """Return the content as it is stored; `Invalid` names what its model or the limits don't allow."""
    check_ranges(content.config, content.model)
    if content.fallback:
        if content.fallback.id == content.model.id:
            raise Invalid("fallbackModelName: Must be another model than the prompt's own.")
        check_ranges(content.config, content.fallback)
    longest = {
        placeholder.key: max(len(value.content) for value in placeholder.values) for placeholder in content.placeholders
    }
    check_filled_length(content.value, longest)
    return replace(content, config=without_defaults(content.config, content.model))


def check_filled_length(text: str, lengths: Mapping[str, int]) -> None:
    """Raise `Invalid` for a text that could exceed `FILLED_MAX` with values of these lengths, by key, filled in."""
    length = filled_length(text, lengths)
    if length > FILLED_MAX:
        raise Invalid(f"placeholders: Filled in, the text can be {length} characters long; the limit is {FILLED_MAX}.")
