"""Makes prompts of agents from their traces: an agent needs only a name to have a prompt, sessions and test cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.database.transactions import Database
from app.errors import Forbidden, Invalid, NotFound, StaleDraft, require
from app.models import agents, organizations, prompts
from app.models.agents import AgentRow
from app.models.api_keys import ApiKey
from app.models.audit_log import SYSTEM, Actor
from app.models.queries import insert_row
from app.redis_store.epochs import Epochs
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService, is_fallback
from app.services.language_models.substitutes import substitute
from app.services.prompts import drafts
from app.services.prompts.content import TOOLS_MAX, TOOLS_VALUES_MAX, PromptContent
from app.services.prompts.drafts import DraftChange
from app.services.prompts.editor import PromptEditor
from app.sessions.agents import RecordedAgent, recorded_agent
from app.sessions.spans import RawSpan, Records
from app.timestamps import Now
from app.values.json import count_marks, json_text

AGENTS_MAX = 1000
"""Agents of one project."""
INSTRUCTION_MAX = 500_000
"""Characters of an instruction, as many as the API accepts; the draft of a longer one stays empty."""
UNTOUCHED = "1"
"""The ETag of a draft that was not changed since its prompt was made."""
NO_WRITE = "This key may not make a prompt: the first trace of an agent needs a key with the scopes ingest and write."

log = structlog.get_logger(__name__)


class TooManyAgents(Invalid):
    """The project has `AGENTS_MAX` agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionService:
    """`checked_config` returns a prompt's configuration as the API stores it, or raises `Invalid`."""

    database: Database
    now: Now
    models: ModelService
    credentials: CredentialService
    editor: PromptEditor
    epochs: Epochs
    checked_config: Callable[[dict[str, Any]], dict[str, Any]]

    def find(self, *, project_id: int, name: str) -> AgentRow | None:
        with self.database.read() as connection:
            return agents.find_agent(connection, project_id=project_id, name=name)

    def require_scope(self, key: ApiKey) -> None:
        """Raise `Forbidden` for a key without the scope `write`, which making an agent needs."""
        if "write" not in key.scopes:
            raise Forbidden(NO_WRITE)

    def make(self, key: ApiKey, name: str) -> AgentRow:
        """Make an agent with an empty prompt in the key's project, or return the one of that name.

        Raises `Forbidden` for a key without the scope `write`, and `TooManyAgents`.
        """
        self.require_scope(key)
        return self.make_of(key.project_id, key.organization_id, name, actor=key.actor)

    def make_of(self, project_id: int, organization_id: int, name: str, *, actor: Actor = SYSTEM) -> AgentRow:
        """Make an agent with an empty prompt in a project, or return the one of that name; no key is checked.

        Raises `TooManyAgents`.
        """

        def make(connection: Connection) -> None:
            if agents.find_agent(connection, project_id=project_id, name=name) is None:
                self._make(connection, project_id, organization_id, name, actor)

        try:
            self.database.retrying(make)
        except IntegrityError:
            # Another batch has made it at the same time.
            log.info("agent_exists", name=name)
        self.epochs.end(project_id)
        return require(self.find(project_id=project_id, name=name), prompts.NO_PROMPT)

    def list(self, *, project_id: int) -> list[AgentRow]:
        """List the project's agents in the order of their names."""
        with self.database.read() as connection:
            return agents.list_agents(connection, project_id=project_id, limit=AGENTS_MAX)

    def _make(self, connection: Connection, project_id: int, organization_id: int, name: str, actor: Actor) -> None:
        """Make an empty prompt for an agent, which its first trace fills."""
        organizations.lock_organization(connection, organization_id)
        if agents.count_agents(connection, project_id=project_id) >= AGENTS_MAX:
            raise TooManyAgents(f"name: This project has {AGENTS_MAX:,} agents, which is the most.")
        now, model = self.now(), self.models.default_or_first(connection, organization_id=organization_id)
        content = PromptContent(
            prompt_id=0,
            name=name,
            commit_hash=None,
            value="",
            instruction_format="RAW",
            model=model,
            config={},
            placeholders=(),
        )
        prompt_id = drafts.add_prompt(connection, project_id, content, actor=actor, now=now).prompt_id
        insert_row(connection, agents.agents, project_id=project_id, prompt_id=prompt_id, name=name, created_at=now)

    def fill(
        self, project_id: int, name: str, spans: Iterable[RawSpan], records: Records = MappingProxyType({})
    ) -> None:
        """Write what the spans with their log records have of an agent into its draft, unless a person has changed it.

        Spans without an instruction change nothing: those of a later batch may have one.
        """
        agent = self.find(project_id=project_id, name=name)
        if agent is None or agent.adopted_at is not None or (recorded := recorded_agent(spans, records)) is None:
            return
        if len(recorded.instruction) > INSTRUCTION_MAX:
            log.warning("agent_not_adopted", prompt_id=agent.prompt_id, error="the instruction is too long")
            return
        try:
            self._change(agent, recorded)
        except StaleDraft:
            log.info("agent_changed_by_a_person", prompt_id=agent.prompt_id)
        except (Invalid, NotFound) as error:
            log.warning("agent_not_adopted", prompt_id=agent.prompt_id, error=str(error))
            return
        now = self.now()
        self.database.retrying(
            lambda connection: agents.put_adopted(connection, project_id=project_id, name=name, now=now)
        )

    def _change(self, agent: AgentRow, recorded: RecordedAgent) -> None:
        """Change the draft, without what can't be stored.

        The model is the recorded one or a substitute for it, otherwise the one that the draft has.
        """
        model_name = self._usable_model(agent, recorded.model) if recorded.model else None
        change = DraftChange(value=recorded.instruction, model_name=model_name, config=self._config(recorded))
        plain = replace(change, config=self._config(replace(recorded, parameters={}, response_format={})))
        which: dict[str, Any] = {"project_id": agent.project_id, "prompt_id": agent.prompt_id}
        for tried in (change, plain):
            try:
                self.editor.change(**which, change=tried, if_match=[UNTOUCHED], actor=SYSTEM)
                return
            except Invalid as error:
                log.info("agent_adopted_in_part", prompt_id=agent.prompt_id, error=str(error))
        self.editor.change(**which, change=replace(plain, model_name=None), if_match=[UNTOUCHED], actor=SYSTEM)

    def _usable_model(self, agent: AgentRow, recorded: str) -> str | None:
        """Return the recorded model if prompts can use it, else the nearest one that can be asked; None without any."""
        with self.database.read() as connection:
            organization_id = organizations.require_project(connection, agent.project_id).organization_id
        models = self.models.list(organization_id=organization_id)
        if any(model.usable and model.name == recorded for model in models):
            return recorded
        has_default = any(model.is_default and not is_fallback(model) for model in models)
        credentials = {entry.vendor: entry.base_url for entry in self.credentials.list(organization_id)}
        nearest = substitute(recorded, models, credentials, other_vendors=not has_default)
        if nearest is None:
            return None
        log.info("agent_model_replaced", prompt_id=agent.prompt_id, recorded=recorded, model=nearest.name)
        return nearest.name

    def _config(self, recorded: RecordedAgent) -> dict[str, Any]:
        """Return the recorded parameters, format of answers and tools, each if the API would accept it."""
        config: dict[str, Any] = {}
        for name, value in recorded.parameters.items():
            config |= self._accepted({name: value})
        if _may_be_stored([recorded.response_format]):
            config |= self._accepted(recorded.response_format)
        tools: list[dict[str, Any]] = []
        for tool in recorded.tools if _may_be_stored(recorded.tools) else ():
            tools += self._accepted({"tools": [tool]}).get("tools", [])
        return config | self._accepted({"tools": tools}) if tools else config

    def _accepted(self, config: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.checked_config(config)
        except Invalid:
            return {}


def _may_be_stored(parts: Sequence[dict[str, Any]]) -> bool:
    """Return whether tools, or a schema, are no more than a configuration may have: to check each costs much more."""
    if len(parts) > TOOLS_MAX:
        return False
    return sum(count_marks(json_text(part)) for part in parts) <= TOOLS_VALUES_MAX
