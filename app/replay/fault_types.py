"""Faults of a replay, and the variants of a test case that have them. Each struct describes its stored JSON, too."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

FaultKind = Literal["timeout", "error", "refused", "empty", "garbage"]
FAULTS_MAX = 20
"""Faults of one replay."""
VARIANTS_MAX = 20
"""Variants of one test case."""
VARIANT_NAME_MAX = 64
FAULT_MESSAGE_MAX = 10_000
FAULT_TOOL_MAX = 1_000


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded call that fails in a replay: call number `call`, from 0, of the recorded calls of a tool.

    `message` replaces the text of the error or of the garbage. Raises ValueError for a message of an empty result.
    """

    tool: Annotated[str, Meta(min_length=1, max_length=FAULT_TOOL_MAX)]
    call: Annotated[int, Meta(ge=0)]
    kind: FaultKind
    message: Annotated[str, Meta(max_length=FAULT_MESSAGE_MAX)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.message and self.kind == "empty":
            raise ValueError("message: an empty result has no message")


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A test case with faults, which is played in addition to the recording."""

    name: Annotated[str, Meta(min_length=1, max_length=VARIANT_NAME_MAX)]
    faults: Annotated[tuple[Fault, ...], Meta(min_length=1, max_length=FAULTS_MAX)]
