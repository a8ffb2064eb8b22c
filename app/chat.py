"""Messages to a model and its answers: the types that providers, replays and runs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]

# Data that a vendor expects back unchanged with its model's messages, such as a signature of its reasoning.
VendorState = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A function that the model may call; `parameters` is a JSON Schema of type object.

    `effect`, `idempotent`, and the Model Context Protocol's hints in `annotations`, are for replays and are not sent to
    a model.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    strict: bool | None = None
    effect: Literal["read", "write", "by_call"] | None = None
    annotations: dict[str, Any] | None = None
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model requests. `arguments` is decoded JSON, or the text itself if it is not JSON.

    A `hosted` call was run by the model's vendor, as a search of the web: its result is in the same message.
    """

    id: str
    name: str
    arguments: Any
    vendor_state: VendorState | None = field(default=None, compare=False, repr=False)
    hosted: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """A part of the user's message; `content` is decoded, not base64."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Only `user` has files, `assistant` tool calls, and `tool` a call's id."""

    role: Role
    text: str
    files: tuple[File, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    vendor_state: VendorState | None = field(default=None, compare=False, repr=False)


# The counts of `Tokens`. Each has a column with the suffix `_tokens` in the tables of replays and of usage.
TOKEN_COUNTS = ("prompt", "completion", "cache_read", "cache_write", "reasoning")


class Tokens(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Counts as the vendor reports them; `prompt` and `completion` include `cache_*` and `reasoning`.

    Its JSON omits `cache_*` and `reasoning` when they are 0. It always has the other counts, because msgspec omits no
    field with a default factory.
    """

    prompt: int = msgspec.field(default_factory=int)
    completion: int = msgspec.field(default_factory=int)
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    total: int = msgspec.field(default_factory=int)

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "total", self.prompt + self.completion)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, name) + getattr(other, name) for name in TOKEN_COUNTS))


FinishReason = Literal["stop", "tool_calls", "length", "refused"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer. `refusal` is the vendor's text when `finish_reason` is `refused`.

    `reported_model` is the name of the model in the vendor's answer, often with a date; "" if the answer has none.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    tokens: Tokens = Tokens()
    finish_reason: FinishReason = "stop"
    refusal: str | None = None
    vendor_state: VendorState | None = field(default=None, compare=False, repr=False)
    reported_model: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A piece of `text` that a model has just written, or a whole `tool_call`."""

    kind: Literal["token", "reasoning", "tool_call"]
    text: str = ""
    tool_call: ToolCall | None = None


OnEvent = Callable[[StreamEvent], None]
