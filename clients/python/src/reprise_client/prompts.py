"""A prompt as an application gets it, and what it renders to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reprise_client.errors import InvalidRequestError, RepriseError
from reprise_client.records import InstructionFormat, Record

State = Literal["fresh", "stale", "fallback"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """An instruction, and what became of the selections.

    `resolved` maps each defined key of the text to the name of the value used, None if it has none. `ignored` are the
    keys that were given and not used. `undefined` are the keys of the text that nothing defines; they stay in it.
    `version` and `state` are those of the prompt.
    """

    instruction: str = field(repr=False)
    resolved: dict[str, str | None]
    ignored: list[str]
    undefined: list[str]
    version: str | None
    state: State


@dataclass(frozen=True, slots=True)
class Prompt:
    """A version of a prompt, as it was when the application asked for it.

    `state` is "fresh" when the server confirmed the version within the time that versions stay fresh, "stale" when it
    did so earlier, and "fallback" for the text that the application brings. `problem` is the error of the latest
    request, None if it succeeded. `age_s` are the seconds since the server confirmed the version, None if it never did.
    """

    record: Record
    state: State
    problem: RepriseError | None = None
    age_s: float | None = None

    @property
    def id(self) -> int:
        return self.record.prompt_id

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def version(self) -> str | None:
        """The commit hash, which traces carry as `service.prompt.version`; None for a draft."""
        return self.record.version

    @property
    def value(self) -> str:
        """The text with its placeholders."""
        return self.record.value

    @property
    def instruction_format(self) -> InstructionFormat:
        return self.record.instruction_format

    @property
    def language_model(self) -> dict[str, Any]:
        return dict(self.json().get("languageModel") or {})

    @property
    def language_model_config(self) -> dict[str, Any]:
        """The model's configuration, such as `temperature` and `tools`."""
        return dict(self.json().get("languageModelConfig") or {})

    def json(self) -> dict[str, Any]:
        """Return the whole answer of the API, parsed again for each call."""
        return self.record.json()

    def render(self, selections: Mapping[str, str] | None = None, /, **more: str) -> Rendered:
        """Return the instruction as the server renders it; `selections` maps keys to names of their values."""
        chosen = {**(selections or {}), **more}
        for key, name in chosen.items():
            if not isinstance(key, str) or not isinstance(name, str):
                raise InvalidRequestError(f"placeholders: {key!r} needs the name of one of its values, as a string.")
        made = self.record.render(chosen)
        return Rendered(
            made.instruction, dict(made.resolved), list(made.ignored), list(made.undefined), self.version, self.state
        )
