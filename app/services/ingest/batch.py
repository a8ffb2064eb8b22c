"""The format in which a batch was sent, and the receipt for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from app.errors import Unavailable

Signal = Literal["traces", "logs"]
StoredKeys = bytes
"""The keys of the spans of a batch of which all were stored: 16 bytes of trace id and 8 of span id each. b"" for none.

Redis keeps them for two minutes. If the same body is sent again, and these spans are still stored, it is not decoded.
"""


@dataclass(frozen=True, slots=True)
class BatchForm:
    """The format of a batch.

    `encoding` is the content encoding. `prompt_id` is the prompt in the request's path: its spans need not name a
    prompt. `agent` is the agent in the path if its prompt is still empty: the spans fill it. With `split`, spans
    that name other agents belong to the prompts of these agents; "make" also makes prompts for agents without one.
    """

    encoding: str = ""
    protobuf: bool = False
    prompt_id: int | None = None
    signal: Signal = "traces"
    agent: str = ""
    split: Literal["", "known", "make"] = ""

    @property
    def name(self) -> str:
        """A name that differs between formats, so that equal bodies of different formats are not mixed up."""
        parts = (
            self.encoding or "identity",
            "protobuf" if self.protobuf else "",
            f"prompt {self.prompt_id}" if self.prompt_id else "",
            "logs" if self.signal == "logs" else "",
            "split" if self.split else "",
        )
        return ":".join(filter(None, parts))

    def message_arguments(self) -> list[dict[str, Any]]:
        """Return the format as additional message arguments, without the encoding; empty if it has only defaults."""
        # An earlier release, which may run for a while, knows no `split`.
        fields = {name: value for name, value in asdict(self).items() if name != "split" or value}
        return [] if self == BatchForm(self.encoding) else [fields]


class BatchLost(Unavailable):
    """The process that was to store a batch has ended or does not answer."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of storing a batch; `message` describes what is wrong with the batch or with some of its spans.

    `outcome` is "stored", or the code of the error of a batch of which nothing is stored.
    """

    outcome: str
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    message: str = ""
