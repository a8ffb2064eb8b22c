"""The form in which a batch was sent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BatchForm:
    """`encoding` is the content encoding; `prompt_id` is the prompt of the address, whose spans need not name one."""

    encoding: str = ""
    protobuf: bool = False
    prompt_id: int | None = None

    @property
    def name(self) -> str:
        """A name that equal bodies of different forms do not share."""
        sent_as = ":protobuf" if self.protobuf else ""
        return f"{self.encoding or 'identity'}{sent_as}" + (f":prompt {self.prompt_id}" if self.prompt_id else "")

    def more(self) -> list[dict[str, Any]]:
        """What a message says of the form beside the encoding: nothing if workers of older releases know it all."""
        return [] if self == BatchForm(self.encoding) else [asdict(self)]
