"""Agents that send traces by their name, and what traces record of a prompt's instruction."""

from __future__ import annotations

from app.api.operation import ApiCall, Command, Resource, operation
from app.models.agents import AgentRow
from app.models.api_keys import ApiKey
from app.schemas import agents as schemas
from app.schemas.prompts import PromptSchema, Published
from app.services.sessions.instructions import InstructionReport


class AgentsResource(Resource, tag="Agents", GET="read"):
    @operation("The project's agents, sorted by name", answers={200: schemas.Agents})
    def on_get(self, key: ApiKey) -> list[AgentRow]:
        return self.services.adoption.list(project_id=key.project_id)


class RecordedInstructionResource(Resource, tag="Agents", GET="read"):
    @operation(
        "The instruction that traces bring, compared with the prompt, and placeholders for what varies in it",
        answers={200: schemas.RecordedInstructionSchema},
    )
    def on_get(self, key: ApiKey, prompt_id: int) -> InstructionReport:
        return self.services.instructions.report(project_id=key.project_id, prompt_id=prompt_id)


class InstructionAdoption(Resource, tag="Agents", POST="write"):
    """The draft's placeholders stay where the text around them does."""

    @operation(
        "Make the newest recorded instruction the draft",
        headers=("If-Match",),
        answers={200: PromptSchema},
        answer_headers=("ETag",),
        errors=(412,),
    )
    def on_post(self, key: ApiKey, call: ApiCall, prompt_id: int) -> Published:
        view = self.services.instructions.adopt(
            project_id=key.project_id, prompt_id=prompt_id, if_match=call.if_match, actor=key.actor
        )
        return Published.at(self.container.settings.public_url, view)


class PlaceholderAcceptance(Resource, tag="Agents", POST="write"):
    """The values that sessions had become named values of the placeholders; the draft's text is the default."""

    @operation(
        "Put placeholders into the draft in place of what varies between sessions",
        body=schemas.AcceptProposalsSchema,
        headers=("If-Match",),
        answers={200: PromptSchema},
        answer_headers=("ETag",),
        errors=(409, 412),
    )
    def on_post(self, key: ApiKey, command: Command, call: ApiCall, prompt_id: int) -> Published:
        view = self.services.instructions.accept(
            project_id=key.project_id, prompt_id=prompt_id, if_match=call.if_match, actor=key.actor, **command
        )
        return Published.at(self.container.settings.public_url, view)
