"""The demo: a prompt whose features need no vendor's key, a recorded session of it, a test case and a replay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from app.db import Database
from app.errors import Unavailable
from app.models import sessions
from app.models.replays import ReplayFilter
from app.rendering.placeholders import Placeholder, PlaceholderValue
from app.services.prompts.drafts import NewPrompt
from app.services.replays.cases import CaseChange, TestCaseService
from app.services.replays.service import ReplayService
from app.services.traces.ingest import IngestService
from app.timestamps import Now

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RecordedCall:
    name: str
    arguments: Any
    result: Any


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One trace: the user's message, the tool calls, the answer. Fields that are None are left out of the spans."""

    user: str
    answer: str
    calls: tuple[RecordedCall, ...] = ()
    offered: tuple[str, ...] | None = None
    placeholders: dict[str, str] | None = None
    version: str | None = None


def export(
    prompt_id: int, conversation_id: str, turns: Sequence[RecordedTurn], *, start_ns: int, model: str = "demo-agent"
) -> bytes:
    """The conversation as one batch; its ids derive from prompt and conversation, so that it is stored once."""
    spans: list[dict[str, Any]] = []
    for index, turn in enumerate(turns):
        shared = _shared(prompt_id, conversation_id, turn)
        trace = sha256(f"{prompt_id}/{conversation_id}/{index}".encode()).hexdigest()[:32]
        at_ns = start_ns + index * 60 * SECOND_NS
        for number, (name, attributes) in enumerate(_spans(turn, model)):
            spans.append(
                {
                    "traceId": trace,
                    "spanId": sha256(f"{trace}/{number}".encode()).hexdigest()[:16],
                    "name": name,
                    "startTimeUnixNano": str(at_ns + number * SECOND_NS),
                    "endTimeUnixNano": str(at_ns + (number + 1) * SECOND_NS),
                    "attributes": [_attribute(key, value) for key, value in (shared | attributes).items()],
                }
            )
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _shared(prompt_id: int, conversation_id: str, turn: RecordedTurn) -> dict[str, Any]:
    known = {
        "service.prompt.id": prompt_id,
        "gen_ai.conversation.id": conversation_id,
        "service.tools.offered": None if turn.offered is None else json.dumps(turn.offered),
        "service.prompt.placeholders": None if turn.placeholders is None else json.dumps(turn.placeholders),
        "service.prompt.version": turn.version,
    }
    return {key: value for key, value in known.items() if value is not None}


def _spans(turn: RecordedTurn, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for call in turn.calls:
        yield (
            f"execute_tool {call.name}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.arguments": json.dumps(call.arguments, ensure_ascii=False),
                "gen_ai.tool.call.result": json.dumps(call.result, ensure_ascii=False),
            },
        )
    yield (
        f"chat {model}",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.input.messages": _message("user", turn.user),
            "gen_ai.output.messages": _message("assistant", turn.answer),
            "gen_ai.usage.input_tokens": len(turn.user.split()),
            "gen_ai.usage.output_tokens": len(turn.answer.split()),
        },
    )


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


TEXT = """\
# Role
You are the support assistant of {{shop}}. Answer in a {{tone}} tone.

# Rules
- Look an order up before you say anything about it.
- Ask for the order number when it is missing.
---
## What you must not do
Promise refunds: pass those to a colleague.
"""


def _tool(name: str, description: str, argument: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": description, "parameters": parameters}


def _placeholder(key: str, description: str, **values: str) -> Placeholder:
    """The first value is the default."""
    named = tuple(PlaceholderValue(name, text, is_default=at == 0) for at, (name, text) in enumerate(values.items()))
    return Placeholder(key=key, description=description, values=named)


PROMPT = NewPrompt(
    name="Demo: shop support",
    value=TEXT,
    model_name="demo-agent",
    config={
        "tools": [
            _tool("get_order", "The state of an order, by its number.", "order_id"),
            _tool("get_weather", "The weather that a parcel travels through, by city.", "city"),
        ]
    },
    placeholders=(
        _placeholder("shop", "Whose assistant it is", northwind="Northwind Traders", contoso="Contoso Outdoor"),
        _placeholder("tone", "How it speaks", friendly="friendly, informal", formal="formal"),
    ),
)

CONVERSATION = "demo-conversation"
CHOSEN = {"shop": "northwind", "tone": "friendly"}

ORDER_SENT = "Order A-1042 left Hamburg on Monday and arrives on Thursday."
ORDER_PACKED = "Order A-1043 is being packed."


def _turn(user: str, answer: str, call: RecordedCall) -> RecordedTurn:
    return RecordedTurn(user, answer, (call,), (call.name,), CHOSEN)


# `demo-agent` calls each offered tool with the question as its argument, and answers with the tools' results.
TURNS = (
    _turn("A-1042", ORDER_SENT, RecordedCall("get_order", {"order_id": "A-1042"}, ORDER_SENT)),
    _turn(
        "Will the storm over Hamburg delay it?",
        "There is a storm warning for Hamburg, so it may come a day later.",
        RecordedCall("get_weather", {"city": "Hamburg"}, {"city": "Hamburg", "warning": "storm"}),
    ),
    _turn("A-1043", ORDER_PACKED, RecordedCall("get_order", {"order_id": "A-1043"}, ORDER_PACKED)),
)
# The first turn passes; the weather tool gets other arguments than recorded; the last turn is left out.
CHANGES = {"includedTurns": 2, "steps": [{"turn": 1, "step": 1, "check": {"enabled": False}}]}
# The number of newest sessions of the prompt among which the demo's is searched.
SESSIONS = 1000
NAME = "Demo: where is my order?"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSession:
    database: Database
    now: Now
    ingest: IngestService
    test_cases: TestCaseService
    replays: ReplayService

    def seed(self, *, project_id: int, prompt_id: int) -> None:
        """Store the session and start the replay, once for a prompt: what people delete afterwards stays deleted."""
        every = ReplayFilter()
        if self.replays.list(project_id=project_id, prompt_id=prompt_id, filters=every, limit=1, cursor=None).entries:
            return
        case = self.test_cases.from_session(
            project_id=project_id, session_id=self._stored(project_id, prompt_id), change=CaseChange(NAME, CHANGES)
        )
        self.replays.start(project_id=project_id, test_case_id=case.id)

    def _stored(self, project_id: int, prompt_id: int) -> str:
        """Store the session as if an exporter had sent it an hour ago; returns its id."""
        start_ns = int(self.now().timestamp() - 3600) * SECOND_NS
        receipt = self.ingest.store(project_id, export(prompt_id, CONVERSATION, TURNS, start_ns=start_ns))
        if receipt.outcome != "stored":
            raise Unavailable(f"The demo session could not be stored: {receipt.message}")
        with self.database.read() as connection:
            rows = sessions.list_sessions(connection, sessions.SessionRange(prompt_id), limit=SESSIONS)
        return next(row.session_key.hex() for row in rows if row.conversation_id == CONVERSATION)
