"""/api/v1/prompts: the project's prompts, their renderings and their versions."""

from __future__ import annotations

from app.api.operation import ApiCall, Command, Resource, operation
from app.concurrency import computing
from app.models.api_keys import ApiKey
from app.schemas import prompts as schemas
from app.services.prompts.content import PromptContent
from app.services.prompts.drafts import DraftChange, NewPrompt
from app.services.prompts.editor import ListedVersion, VersionView
from app.services.prompts.service import RenderedVersion


class PromptsResource(Resource, GET="read", POST="write"):
    @operation(
        "The project's prompts, or its archived prompts, newest first",
        query=schemas.PageQuery,
        answers={200: schemas.PromptList},
    )
    def on_get(self, key: ApiKey, command: Command) -> schemas.ListedPrompts:
        page = self.services.prompts.list(project_id=key.project_id, **command)
        return schemas.ListedPrompts(
            page, [schemas.Published.at(self.container.settings.public_url, prompt) for prompt in page.prompts]
        )

    @operation(
        "Create a prompt and commit it; with `commit` false it stays a draft",
        body=schemas.NewPromptSchema,
        answers={201: schemas.CreatedPrompt},
        location="/api/v1/prompts/{prompt[id]}",
    )
    def on_post(self, key: ApiKey, command: NewPrompt) -> PromptContent:
        return self.services.prompt_editor.create(
            project_id=key.project_id, organization_id=key.organization_id, new=command, actor=key.actor
        )


class PromptResource(Resource, GET="read", PATCH="write", DELETE="write"):
    @operation(
        "One prompt",
        query=schemas.WhichVersionQuery,
        headers=("If-None-Match",),
        answers={200: schemas.PromptSchema, 304: None},
        answer_headers=("ETag",),
        kept=True,
    )
    def on_get(self, key: ApiKey, command: Command, call: ApiCall, prompt_id: int) -> schemas.Published:
        view = self.services.prompts.get(project_id=key.project_id, prompt_id=prompt_id, epoch=call.epoch, **command)
        computing.await_place(view.content.filled_length)
        return schemas.Published.at(self.container.settings.public_url, view)

    @operation(
        "Edit the draft",
        body=schemas.DraftChangeSchema,
        headers=("If-Match",),
        answers={200: schemas.PromptSchema},
        answer_headers=("ETag",),
        errors=(412,),
    )
    def on_patch(self, key: ApiKey, command: DraftChange, call: ApiCall, prompt_id: int) -> schemas.Published:
        view = self.services.prompt_editor.change(
            project_id=key.project_id, prompt_id=prompt_id, change=command, if_match=call.if_match, actor=key.actor
        )
        return schemas.Published.at(self.container.settings.public_url, view)

    @operation("Archive the prompt", answers={204: None})
    def on_delete(self, key: ApiKey, prompt_id: int) -> None:
        self.services.prompt_editor.archive(project_id=key.project_id, prompt_id=prompt_id, actor=key.actor)


class UnarchiveResource(Resource, POST="write"):
    @operation("Unarchive a prompt", answers={200: schemas.PromptSchema}, answer_headers=("ETag",))
    def on_post(self, key: ApiKey, prompt_id: int) -> schemas.Published:
        view = self.services.prompt_editor.unarchive(project_id=key.project_id, prompt_id=prompt_id, actor=key.actor)
        return schemas.Published.at(self.container.settings.public_url, view)


class Render(Resource, POST="read"):
    """Rendering changes nothing, so keys that may read may render."""

    @operation(
        "The instruction that the model would receive",
        body=schemas.RenderSchema,
        body_optional=True,
        answers={200: schemas.RenderedPromptSchema},
        kept=True,
    )
    def on_post(self, key: ApiKey, command: Command, call: ApiCall, prompt_id: int) -> RenderedVersion:
        return self.services.prompts.render(project_id=key.project_id, prompt_id=prompt_id, epoch=call.epoch, **command)


class PreviewResource(Resource, POST="read"):
    """A preview for editors. Nothing is stored, so keys that may read may preview."""

    @operation(
        "The instruction that an edited draft would give",
        body=schemas.PreviewSchema,
        answers={200: schemas.RenderedPromptSchema},
    )
    def on_post(self, key: ApiKey, command: Command, prompt_id: int) -> RenderedVersion:
        return self.services.prompt_editor.preview(project_id=key.project_id, prompt_id=prompt_id, **command)


class Commit(Resource, tag="Versions", POST="write"):
    @operation(
        "Commit the draft",
        body=schemas.CommitSchema,
        body_optional=True,
        headers=("If-Match",),
        answers={201: schemas.VersionSchema},
        location="/api/v1/prompts/{prompt_id}/versions/{commitHash}",
        errors=(409, 412),
    )
    def on_post(self, key: ApiKey, command: Command, call: ApiCall, prompt_id: int) -> VersionView:
        return self.services.versions.commit(
            project_id=key.project_id, prompt_id=prompt_id, if_match=call.if_match, actor=key.actor, **command
        )


class VersionsResource(Resource, tag="Versions", GET="read"):
    @operation("The prompt's versions, newest first", answers={200: schemas.Versions})
    def on_get(self, key: ApiKey, prompt_id: int) -> list[ListedVersion]:
        return self.services.versions.list(project_id=key.project_id, prompt_id=prompt_id)


class VersionResource(Resource, tag="Versions", GET="read"):
    @operation("One version", answers={200: schemas.VersionSchema})
    def on_get(self, key: ApiKey, prompt_id: int, commit_hash: str) -> VersionView:
        return self.services.versions.get(project_id=key.project_id, prompt_id=prompt_id, commit_hash=commit_hash)


class RestoreResource(Resource, tag="Versions", POST="write"):
    base: str

    @operation(
        "Restore a version as the draft",
        headers=("If-Match",),
        answers={200: schemas.PromptSchema},
        answer_headers=("ETag",),
        errors=(412,),
    )
    def on_post(self, key: ApiKey, call: ApiCall, prompt_id: int, commit_hash: str) -> schemas.Published:
        view = self.services.versions.restore(
            project_id=key.project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=call.if_match,
            actor=key.actor,
        )
        return schemas.Published.at(self.container.settings.public_url, view)
