"""The instruction that a model receives: the prompt's text filled first, converted second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.rendering.placeholders import Placeholder, fill
from app.rendering.xml import to_xml

InstructionFormat = Literal["XML", "RAW"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """An instruction, and what became of the placeholders in it (see `placeholders.Filled`)."""

    instruction: str
    resolved: dict[str, str | None]
    ignored: list[str]
    undefined_keys: list[str]


def render(
    text: str,
    instruction_format: InstructionFormat,
    definitions: Sequence[Placeholder],
    selections: Mapping[str, str],
) -> Rendered:
    """Render a prompt's text; `selections` maps a placeholder's key to the name of one of its values."""
    filled = fill(text, definitions, selections)
    instruction = to_xml(filled.text) if instruction_format == "XML" else filled.text
    return Rendered(instruction, filled.resolved, filled.ignored, filled.undefined_keys)
