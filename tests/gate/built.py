"""Conversations that are built as spans: with what those of the SDKs lack, in two forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from typing import Any

import orjson

from tests.gate.conversations import Call, Conversation, Turn

CUSTOMER = {"name": "Maria Silva", "email": "maria.silva@example.com", "phone": "+351 912 345 678", "tier": "gold"}
ORDER = {
    "order_id": "A-1042",
    "customer": "Maria Silva",
    "total": 1299.0,
    "currency": "USD",
    "ordered": "2026-11-05",
    "items": [{"sku": "LAP-15", "name": "Laptop", "price": 1199.0}, {"sku": "BAG-02", "name": "Bag", "price": 100.0}],
}
REFUND = {"order_id": "A-1042", "amount": 1299.0, "currency": "USD", "note": "The laptop never came."}
MAIL = {
    "to": "maria.silva@example.com",
    "subject": "Refund of order A-1042",
    "body": "Hello Maria, we refunded $1,299.00 for order A-1042. Your receipt is RF-88213. Best wishes, the shop",
}
BILLING = Conversation(
    "You are the billing agent of a shop. Read the policy before you refund.",
    (
        Turn(
            "What did I pay for order A-1042, and when?",
            "You paid $1,299.00 for order A-1042 on 5 November 2026: $1,199.00 for the Laptop and $100.00 for the Bag.",
            ((Call("get_order", {"order_id": "A-1042"}, ORDER), Call("get_customer", {"id": 20}, CUSTOMER)),),
        ),
        Turn(
            "It never came. I want my money back, and an e-mail that says so.",
            "I have refunded $1,299.00 for order A-1042 (receipt RF-88213) and sent the receipt to "
            "maria.silva@example.com. The money arrives by 12 November 2026.",
            (
                (Call("get_policy", {"topic": "lost parcels"}, {"days": 30, "share": "100%"}),),
                (Call("refund_order", REFUND, {"receipt": "RF-88213", "arrives": "2026-11-12"}),),
                (Call("send_email", MAIL, {"message_id": "M-5501"}),),
            ),
        ),
        Turn(
            "Where can I see the receipt?",
            "Your receipt is at https://shop.example.com/receipts/RF-88213 until 2027-11-12.",
            (
                (
                    Call(
                        "get_receipt",
                        {"receipt": "RF-88213"},
                        {"url": "https://shop.example.com/receipts/RF-88213", "until": "2027-11-12"},
                    ),
                ),
            ),
        ),
        Turn(
            "Please also change my address to Rua Augusta 24, Lisbon.",
            "Unfortunately I could not change the address: it is locked until 12 November 2026.",
            (
                (
                    Call(
                        "update_address",
                        {"street": "Rua Augusta 24", "city": "Lisbon"},
                        error="address is locked until 2026-11-12",
                    ),
                ),
            ),
        ),
    ),
)
CLINIC = Conversation(
    "You book appointments of a clinic.",
    (
        Turn(
            "Which times does Dr. Weber have on 3 April?",
            "Dr. Weber is free on 03/04/2026 at 09:30 and at 14:15. A visit takes 20 minutes and costs €85.",
            (
                (
                    Call("find_slots", {"doctor": "Weber", "date": "2026-04-03"}, {"free": ["09:30", "14:15"]}),
                    Call("get_fee", {"doctor": "Weber"}, {"fee": "85.00 EUR", "minutes": 20}),
                ),
            ),
        ),
        Turn(
            "14:15, please, and put me on the waiting list for the earlier one.",
            "You are booked with Dr. Weber at 14:15 on 3 April 2026 (C-907), and number 2 on the waiting list for "
            "09:30.",
            (
                (
                    Call("book_slot", {"doctor": "Weber", "date": "2026-04-03", "time": "14:15"}, {"booking": "C-907"}),
                    Call("join_waiting_list", {"date": "2026-04-03", "time": "09:30"}, {"position": 2}),
                ),
            ),
        ),
    ),
)
BUILT = {"billing": BILLING, "clinic": CLINIC}


def exported(conversation: Conversation, *, tool_spans: bool) -> bytes:
    """The conversation as one batch: a chat span for each answer of the model, and a span for each tool if asked."""
    spans = []
    clock = count(1_700_000_000, 1)
    for index, turn in enumerate(conversation.turns):
        trace = sha256(f"{turn.user}/{index}".encode()).hexdigest()[:32]
        for number, (name, attributes) in enumerate(_spans(conversation, index, tool_spans)):
            second = next(clock)
            spans.append(
                {
                    "traceId": trace,
                    "spanId": sha256(f"{trace}/{number}".encode()).hexdigest()[:16],
                    "name": name,
                    "startTimeUnixNano": f"{second}000000000",
                    "endTimeUnixNano": f"{second}900000000",
                    "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
                }
            )
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _spans(conversation: Conversation, index: int, tool_spans: bool) -> Iterator[tuple[str, dict[str, str]]]:
    turn = conversation.turns[index]
    heard = [_text("user", turn.user)]
    for calls in turn.rounds:
        asked = [(f"call_{index}_{len(heard)}_{n}", call) for n, call in enumerate(calls)]
        said = {"role": "assistant", "parts": [_asked(*each) for each in asked]}
        yield _chat(conversation, heard, said)
        if tool_spans:
            yield from (_tool(*each) for each in asked)
        heard += [said, *({"role": "tool", "parts": [_told(*each)]} for each in asked)]
    yield _chat(conversation, heard, _text("assistant", turn.answer))


def _chat(conversation: Conversation, heard: list[Any], said: Any) -> tuple[str, dict[str, str]]:
    return "chat demo", {
        "gen_ai.operation.name": "chat",
        "service.prompt.id": "1",
        "gen_ai.conversation.id": "built",
        "gen_ai.request.model": "demo",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": conversation.instruction}]),
        "gen_ai.input.messages": json.dumps(heard),
        "gen_ai.output.messages": json.dumps([said]),
    }


def _tool(call_id: str, call: Call) -> tuple[str, dict[str, str]]:
    result = {"error": call.error} if call.error else call.result
    return f"execute_tool {call.name}", {
        "gen_ai.operation.name": "execute_tool",
        "service.prompt.id": "1",
        "gen_ai.conversation.id": "built",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": json.dumps(call.arguments),
        "gen_ai.tool.call.result": json.dumps(result),
    }


def _text(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _asked(call_id: str, call: Call) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": call.name, "arguments": call.arguments}


def _told(call_id: str, call: Call) -> dict[str, Any]:
    return {
        "type": "tool_call_response",
        "id": call_id,
        "response": {"error": call.error} if call.error else call.result,
    }
