"""/api/v1/agents: agents that send traces by their name, and their prompts."""

from __future__ import annotations

from app.api.operation import Resource, operation
from app.models.agents import AgentRow
from app.models.api_keys import ApiKey
from app.schemas import agents as schemas


class AgentsResource(Resource, tag="Agents", GET="read"):
    @operation("The project's agents, sorted by name", answers={200: schemas.Agents})
    def on_get(self, key: ApiKey) -> list[AgentRow]:
        return self.services.adoption.list(project_id=key.project_id)
