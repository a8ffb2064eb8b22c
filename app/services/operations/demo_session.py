"""The demo's recorded session, a test case of it, and a replay that shows every result a step can have."""

from __future__ import annotations

from app.db import Database
from app.errors import Unavailable
from app.models import sessions
from app.models.replays import ReplayFilter
from app.services.data.recorded_export import SECOND_NS, RecordedCall, RecordedTurn, export
from app.services.replays.cases import TestCaseService
from app.services.replays.service import ReplayService
from app.services.traces.ingest import IngestService
from app.timestamps import Now

CONVERSATION = "demo-conversation"
CHOSEN = {"shop": "northwind", "tone": "friendly"}

# `demo-agent` calls each offered tool with the question as its argument, and answers with what the tools said.
TURNS = (
    RecordedTurn(
        "A-1042",
        "Order A-1042 left Hamburg on Monday and arrives on Thursday.",
        (
            RecordedCall(
                "get_order",
                {"order_id": "A-1042"},
                "Order A-1042 left Hamburg on Monday and arrives on Thursday.",
            ),
        ),
        ("get_order",),
        CHOSEN,
    ),
    RecordedTurn(
        "Will the storm over Hamburg delay it?",
        "There is a storm warning for Hamburg, so it may come a day later.",
        (RecordedCall("get_weather", {"city": "Hamburg"}, {"city": "Hamburg", "warning": "storm"}),),
        ("get_weather",),
        CHOSEN,
    ),
    RecordedTurn(
        "A-1043",
        "Order A-1043 is being packed.",
        (RecordedCall("get_order", {"order_id": "A-1043"}, "Order A-1043 is being packed."),),
        ("get_order",),
        CHOSEN,
    ),
)
# The first turn passes; the weather is asked for with other words than recorded; the last turn is cut off.
CHANGES = {
    "includedTurns": 2,
    "steps": [{"turn": 1, "step": 1, "check": {"enabled": False}}],
}
# Among how many of the prompt's newest sessions its own is looked for.
SESSIONS = 1000
NAME = "Demo: where is my order?"


class DemoSession:
    def __init__(
        self,
        *,
        database: Database,
        now: Now,
        ingest: IngestService,
        test_cases: TestCaseService,
        replays: ReplayService,
    ) -> None:
        self._database = database
        self._now = now
        self._ingest = ingest
        self._test_cases = test_cases
        self._replays = replays

    def seed(self, *, project_id: int, prompt_id: int) -> None:
        """Once for a prompt: what people then delete stays deleted. The clock sends the replay's message."""
        wanted = ReplayFilter()
        if self._replays.list(project_id=project_id, prompt_id=prompt_id, wanted=wanted, limit=1, cursor=None).entries:
            return
        case = self._test_cases.from_session(
            project_id=project_id, session_id=self._stored(project_id, prompt_id), name=NAME, changes=CHANGES
        )
        self._replays.start(project_id=project_id, test_case_id=case.id)

    def _stored(self, project_id: int, prompt_id: int) -> str:
        """The id of the session, stored as if an exporter had sent it an hour ago."""
        start_ns = int(self._now().timestamp() - 3600) * SECOND_NS
        receipt = self._ingest.store(project_id, export(prompt_id, CONVERSATION, TURNS, start_ns=start_ns))
        if receipt.outcome != "stored":
            raise Unavailable(f"The demo session could not be stored: {receipt.message}")
        with self._database.read() as connection:
            rows = sessions.list_sessions(connection, prompt_id=prompt_id, limit=SESSIONS)
        return next(row.session_key.hex() for row in rows if row.conversation_id == CONVERSATION)
