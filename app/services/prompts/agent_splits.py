"""Splits a batch between the agents that its spans name, so that each of several agents has its own prompt."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from msgspec.structs import replace

from app.models.agents import AGENT_NAME_MAX, NO_AGENT_NAMES, AgentRow
from app.models.span_bodies import SpanKey
from app.otlp.names import text_of
from app.otlp.span import Span
from app.services.accounts.owners import Owners
from app.services.prompts.adoption import AdoptionService, TooManyAgents
from app.sessions.agents import recorded_agent

AGENTS_OF_BATCH = 50
"""Agents of one batch that get a prompt; spans of further ones stay with the agent of the address."""
_NAMES = ("gen_ai.agent.name", "agent.name")
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSplitter:
    adoption: AdoptionService
    owners: Owners

    def split(self, project_id: int, prompt_id: int, spans: Sequence[Span], *, may_make: bool) -> list[Span]:
        """Return the spans, of which those of a named agent belong to its prompt instead of the prompt of the address.

        An agent without a prompt gets one if its spans have an instruction, and if the API key `may_make` agents.
        """
        names = agent_names([span for span in spans if span.prompt_id == prompt_id])
        of_agents: dict[str, list[Span]] = defaultdict(list)
        for span in spans:
            if name := names.get((span.trace_id, span.span_id)):
                of_agents[name].append(span)
        prompt_ids: dict[str, int] = {}
        for name in list(of_agents)[:AGENTS_OF_BATCH]:
            try:
                agent = self._agent(project_id, name, of_agents[name], may_make=may_make)
            except TooManyAgents as error:
                # The others of the batch are only looked up. The next batch asks again: there may be room.
                log.warning("agent_not_made", name=name, error=str(error))
                may_make = False
                continue
            if agent is not None:
                prompt_ids[name] = agent.prompt_id
        return [_moved(span, prompt_ids.get(names.get((span.trace_id, span.span_id), ""))) for span in spans]

    def _agent(self, project_id: int, name: str, spans: Sequence[Span], *, may_make: bool) -> AgentRow | None:
        agent = self.adoption.find(project_id=project_id, name=name)
        if agent is None:
            if not may_make or recorded_agent(spans) is None:
                return None
            agent = self.adoption.make_of(project_id, self.owners.of_project(project_id), name)
        if agent.adopted_at is None:
            self.adoption.fill(project_id, name, spans)
        return agent


def agent_names(spans: Sequence[Span]) -> dict[SpanKey, str]:
    """Return the agent of each span that names one, or that is within a span of the batch that does."""
    by_key = {(span.trace_id, span.span_id): span for span in spans}
    names: dict[SpanKey, str] = {}
    for key in by_key:
        path: list[SpanKey] = []
        at: SpanKey | None = key
        name = ""
        seen: set[SpanKey] = set()
        while at is not None and at in by_key and at not in seen:
            if at in names:
                name = names[at]
                break
            seen.add(at)
            path.append(at)
            span = by_key[at]
            if name := _name_of(span.attributes):
                break
            at = (span.trace_id, span.parent_span_id) if span.parent_span_id else None
        names |= dict.fromkeys(path, name)
    return {key: name for key, name in names.items() if name}


def _name_of(attributes: Mapping[str, object]) -> str:
    named = next((name for key in _NAMES if (name := text_of(attributes.get(key)))), "")
    name = _OTHER.sub("-", named[: 4 * AGENT_NAME_MAX]).strip("-")[:AGENT_NAME_MAX]
    return "" if name in NO_AGENT_NAMES else name


def _moved(span: Span, prompt_id: int | None) -> Span:
    return span if prompt_id is None else replace(span, prompt_id=prompt_id)
