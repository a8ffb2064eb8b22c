"""Test cases, as answers show them."""

from __future__ import annotations

from typing import get_args

from app.replay.types import AnswerCheck, ArgumentsCheck, AssertionType, History, OnMissing, Order
from app.schemas.answers.shapes import (
    anything,
    boolean,
    choice,
    either,
    integer,
    many,
    mapping,
    one,
    shape,
    text,
    time,
)
from app.schemas.cases import FORMAT

Check = shape(
    "Check",
    {
        "enabled": boolean(),
        "arguments": choice(*get_args(ArgumentsCheck)),
        "answer": choice(*get_args(AnswerCheck)),
        "value": anything(),
        "ignorePaths": many(text()),
    },
)
CheckedAnswer = shape(
    "CheckedAnswer", {"kind": choice("answer"), "spanId": text(), "text": text(), "check": one(Check)}
)
CheckedCall = shape(
    "CheckedCall",
    {
        "kind": choice("tool_call"),
        "spanId": text(),
        "name": text(),
        "arguments": anything(),
        "result": anything(),
        "error": text(allow_none=True),
        "check": one(Check),
    },
)
CaseTurn = shape(
    "TestCaseTurn",
    {
        "traceId": text(),
        "promptVersion": text(allow_none=True),
        "placeholders": mapping(text(), allow_none=True),
        "offeredTools": many(anything(), allow_none=True),
        "user": text(allow_none=True),
        "steps": many(either(CheckedAnswer, CheckedCall)),
    },
)
CaseDocument = shape(
    "TestCaseDocument",
    {
        "order": choice(*get_args(Order)),
        "history": choice(*get_args(History)),
        "onMissing": choice(*get_args(OnMissing)),
        "includedTurns": integer(allow_none=True),
        "assertionType": choice(*get_args(AssertionType), allow_none=True),
        "assertionValue": text(allow_none=True),
        "turns": many(CaseTurn),
    },
)
Case = shape(
    "TestCase",
    {
        "id": integer(),
        "promptId": integer(),
        "name": text(),
        "sessionId": text(allow_none=True),
        "createdAt": time(),
        "updatedAt": time(),
    },
    CaseDocument,
)
Cases = shape("TestCases", {"testCases": many(Case), "nextCursor": text(allow_none=True)})
Proposal = shape("TestCaseProposal", {"promptId": integer(), "name": text(), "testCase": one(CaseDocument)})
Export = shape("TestCaseExport", {"format": choice(FORMAT), "name": text(), "testCase": one(CaseDocument)})
