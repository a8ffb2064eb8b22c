"""The demo: a prompt that needs no vendor's key, a recorded session of it, a test case and a replay.

`demo.json` has the prompt as a `NewPrompt`, and the attributes of each turn's spans. The demo's model calls each
offered tool with the question as its argument, and answers with the tools' results. In the replay the first turn
passes, the second fails because the weather tool gets another city than recorded, and the third turn is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from app.database.transactions import Database
from app.errors import Unavailable
from app.models import session_log
from app.models.replays import ReplayFilter
from app.services.ingest.service import IngestService
from app.services.prompts.drafts import NewPrompt
from app.services.replays.case_commands import CaseChange
from app.services.replays.cases import TestCaseService
from app.services.replays.service import ReplayService
from app.timestamps import Now
from app.values.structs import convert

SECOND_NS = 1_000_000_000
DEMO: dict[str, Any] = orjson.loads(Path(__file__).with_name("demo.json").read_bytes())
PROMPT = convert(DEMO["prompt"], NewPrompt)
CONVERSATION: str = DEMO["conversation"]
# The demo's session is looked for among this many of the prompt's newest sessions.
SESSIONS_SEARCHED = 1000


def export(prompt_id: int, *, start_ns: int) -> bytes:
    """Return the session as one batch; its ids derive from the prompt's id, so that it is stored only once."""
    spans: list[dict[str, Any]] = []
    session = {"service.prompt.id": prompt_id, "gen_ai.conversation.id": CONVERSATION}
    for index, turn in enumerate(DEMO["turns"]):
        trace = sha256(f"{prompt_id}/{DEMO['conversation']}/{index}".encode()).hexdigest()[:32]
        at_ns = start_ns + index * 60 * SECOND_NS
        for number, span in enumerate(turn["spans"]):
            attributes = session | turn["attributes"] | span["attributes"]
            spans.append(
                {
                    "traceId": trace,
                    "spanId": sha256(f"{trace}/{number}".encode()).hexdigest()[:16],
                    "name": span["name"],
                    "startTimeUnixNano": str(at_ns + number * SECOND_NS),
                    "endTimeUnixNano": str(at_ns + (number + 1) * SECOND_NS),
                    "attributes": [{"key": key, "value": _attribute(value)} for key, value in attributes.items()],
                }
            )
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _attribute(value: Any) -> dict[str, str]:
    """Return an attribute's value in OTLP; lists and objects are JSON in a string."""
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value if isinstance(value, str) else orjson.dumps(value).decode()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSession:
    database: Database
    now: Now
    ingest: IngestService
    test_cases: TestCaseService
    replays: ReplayService

    def seed(self, *, project_id: int, prompt_id: int) -> None:
        """Store the session and start the replay, once per prompt: data that people delete is not stored again."""
        every = ReplayFilter()
        if self.replays.list(project_id=project_id, prompt_id=prompt_id, filters=every, limit=1, cursor=None).entries:
            return
        session_id, change = self._stored(project_id, prompt_id), CaseChange(**DEMO["testCase"])
        case = self.test_cases.from_session(project_id=project_id, session_id=session_id, change=change)
        self.replays.start(project_id=project_id, test_case_id=case.id)

    def _stored(self, project_id: int, prompt_id: int) -> str:
        """Store the session as if an exporter had sent it an hour ago; returns its id."""
        start_ns = int(self.now().timestamp() - 3600) * SECOND_NS
        receipt = self.ingest.store(project_id, export(prompt_id, start_ns=start_ns))
        if receipt.outcome != "stored":
            raise Unavailable(f"The demo session could not be stored: {receipt.message}")
        with self.database.read() as connection:
            rows = session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=SESSIONS_SEARCHED)
        return next(row.session_key.hex() for row in rows if row.conversation_id == CONVERSATION)
