"""The instruction that a model receives, made from a prompt's text as the server makes it. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprise_formats.placeholders import Rendering, fill

from reprise_client.markdown.conversion import to_xml


def render(
    text: str, instruction_format: str, definitions: Sequence[Mapping[str, Any]], selections: Mapping[str, str]
) -> Rendering:
    """Render a prompt's text.

    `instruction_format` is "XML" or "RAW", `definitions` are the API's `placeholderDefinitions` as they are in JSON,
    and `selections` maps a placeholder's key to the name of one of its values. Raises `InvalidRequestError` for XML of
    more lines and blocks than the server converts.
    """
    filled = fill(text, [_definition(definition) for definition in definitions], selections)
    return replace(filled, instruction=to_xml(filled.instruction)) if instruction_format == "XML" else filled


@dataclass(frozen=True)
class _JsonValue:
    name: str
    content: str
    is_default: bool


@dataclass(frozen=True)
class _JsonDefinition:
    key: str
    values: Sequence[_JsonValue]


def _definition(json: Mapping[str, Any]) -> _JsonDefinition:
    """Read one of the API's `placeholderDefinitions`."""
    values = [_JsonValue(value["name"], value["content"], value.get("isDefault", False)) for value in json["values"]]
    return _JsonDefinition(json["key"], values)
