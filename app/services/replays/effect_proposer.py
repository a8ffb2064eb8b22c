"""Asks the prompt's model once for each new test case what its tools with an unknown effect do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_hex

import structlog
from msgspec import to_builtins
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import NotFound, ProviderError
from app.models import cases as test_cases
from app.models import organizations, usage
from app.models.cases import TestCaseRow
from app.models.language_models import LanguageModel
from app.models.usage import Spent
from app.providers.types import ProviderPort
from app.replay.cases import load_case
from app.replay.effect_proposals import EffectProposal, UnknownTool, propose_effects, unknown_tools
from app.services.language_models.credentials import CredentialService
from app.services.prompts.content import parse_config
from app.services.prompts.reader import PromptReader
from app.services.replays.budget import Unlimited
from app.services.replays.case_store import require_case
from app.services.replays.judge_choice import why_not
from app.services.replays.ports import MeteredModel
from app.services.replays.question_usage import AskedFor, QuestionUsage
from app.timestamps import Now
from app.values.structs import convert

log = structlog.get_logger(__name__)

SOURCE = "effects"
"""The source of these questions in usage."""
QUESTIONS_PER_DAY = 50
"""Questions of a project on a day of UTC."""
CASES_READ = 20
"""Test cases of the prompt of which the proposals are used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectProposer:
    """`call_timeout_s` limits one answer of the model."""

    database: Database
    now: Now
    reader: PromptReader
    credentials: CredentialService
    providers: ProviderPort
    call_timeout_s: float

    def propose(self, *, project_id: int, test_case_id: int) -> None:
        """Store proposals for the test case, unless it has some.

        Nothing happens without an unknown tool, without a credential, or if no model may judge. The queue delivers the
        message again if a worker dies: the model is asked again unless proposals, perhaps none, were stored. Each
        question counts for `QUESTIONS_PER_DAY` before it is asked.
        """
        try:
            with self.database.read() as connection:
                row = require_case(connection, project_id, test_case_id)
                head, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=row.prompt_id)
        except NotFound:
            return
        case = load_case(row.document)
        tools = unknown_tools(case, parse_config(draft.config, draft.model).tools)
        may_judge = case.judge != "never" and not why_not(self.credentials, head.organization_id, draft.model)
        if not tools or not may_judge or row.proposed_effects is not None:
            return
        proposals = self._known(row, tools)
        unknown = [tool for tool in tools if tool.name not in proposals]
        if unknown and self._may_ask(row, head.organization_id, draft.model):
            proposals |= self._asked(row, head.organization_id, draft.model, unknown)
        put = partial(test_cases.put_proposals, row=row, proposed=to_builtins(proposals))
        self.database.retrying(put)

    def _known(self, row: TestCaseRow, tools: Sequence[UnknownTool]) -> dict[str, EffectProposal]:
        """Return the newest proposals of the prompt's other test cases to the same questions."""
        with self.database.read() as connection:
            stored = test_cases.newest_proposals(
                connection, project_id=row.project_id, prompt_id=row.prompt_id, limit=CASES_READ
            )
        definitions = {tool.name: tool.definition for tool in tools}
        known: dict[str, EffectProposal] = {}
        for document in reversed(stored):
            proposals = convert(document, dict[str, EffectProposal])
            known |= {n: proposal for n, proposal in proposals.items() if definitions.get(n) == proposal.definition}
        return known

    def _may_ask(self, row: TestCaseRow, organization_id: int, model: LanguageModel) -> bool:
        """Count a question and return True, unless the project has asked all questions of its day."""

        def count(connection: Connection) -> bool:
            organizations.lock_organization(connection, organization_id)  # other workers count at the same moment
            day = self.now().date()
            asked = usage.runs_of_day(connection, project_id=row.project_id, day=day, source=SOURCE)
            if asked < QUESTIONS_PER_DAY:
                self._count(connection, row, model, Spent(runs=1))
            return asked < QUESTIONS_PER_DAY

        return self.database.retrying(count)

    def _asked(
        self, row: TestCaseRow, organization_id: int, model: LanguageModel, tools: Sequence[UnknownTool]
    ) -> dict[str, EffectProposal]:
        """Return the model's proposals, none if it fails; the question is in the project's usage."""
        used, failed, seconds = QuestionUsage(), False, self.call_timeout_s
        ports = self.providers, self.credentials, used, Unlimited()
        metered = MeteredModel(model, {"temperature": 0}, *ports, seconds, organization_id)
        try:
            return propose_effects(metered, model.name, lambda: token_hex(16), tools)
        except ProviderError as problem:
            failed = True
            log.warning("effects_not_proposed", test_case_id=row.id, error=str(problem))
            return {}
        finally:
            count = partial(self._count, row=row, model=model, spent=used.spent(runs=0, failed=failed))
            self.database.retrying(count)

    def _count(self, connection: Connection, row: TestCaseRow, model: LanguageModel, spent: Spent) -> None:
        AskedFor(SOURCE, row.project_id, row.prompt_id, row.id).count(connection, model, spent, self.now())
