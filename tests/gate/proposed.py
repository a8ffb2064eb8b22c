"""What a language model replied when it was asked for the effects of a set's unknown tools.

`SET.READER.json` has the replies. The reader `writer` had written the agents, `blind` saw only the questions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from app.chat import Answer, Message, ToolDefinition
from app.replay.case_types import DeclaredEffect
from app.replay.effect_proposals import propose_effects, unknown_tools
from tests.gate.heldout import Source

HERE = Path(__file__).parent / "effects"
NONCE = "5b0e7c1d9a3f4268"


class RepliedModel:
    """A model that gives one stored reply."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        self.reply = reply

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> Answer:
        raise NotImplementedError

    def structured(self, instruction: str, question: str, schema: Mapping[str, Any]) -> Answer:
        return Answer(json.dumps(self.reply, ensure_ascii=False))


def readers(of: str) -> list[str]:
    """Return the readers that were asked for the effects of a set."""
    return sorted(path.stem.removeprefix(f"{of}.") for path in HERE.glob(f"{of}.*.json"))


def proposed_effects(source: Source, reader: str) -> dict[str, DeclaredEffect]:
    """Return the effects that a reader proposed for the tools of an agent, which a person then confirms."""
    replies = _replies(source.of, reader)
    unknown = unknown_tools(source.case, source.tools)
    proposals = propose_effects(RepliedModel(replies[source.name]), reader, lambda: NONCE, unknown)
    return {name: proposal.effect for name, proposal in proposals.items()}


@cache
def _replies(of: str, reader: str) -> dict[str, Any]:
    replies: dict[str, Any] = json.loads((HERE / f"{of}.{reader}.json").read_text())["replies"]
    return replies
