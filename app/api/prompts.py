"""/api/v1/prompts: the project's prompts, one of them, and its rendering."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.etags import if_match
from app.api.operation import operation
from app.http.bodies import read_json
from app.schemas import prompt_records
from app.schemas.answers import prompts as answers
from app.schemas.base import load
from app.schemas.prompts import (
    DraftChangeSchema,
    NewPromptSchema,
    Page,
    PageQuery,
    PreviewRequest,
    PreviewSchema,
    RenderRequest,
    RenderSchema,
    WhichVersion,
    WhichVersionQuery,
)
from app.services.prompts.editor import PromptEditor
from app.services.prompts.service import PromptService, PromptView

_NEW, _CHANGE, _PAGE = NewPromptSchema(), DraftChangeSchema(), PageQuery()
_WHICH, _RENDER, _PREVIEW = WhichVersionQuery(), RenderSchema(), PreviewSchema()


class Prompts:
    access = ByKey({"GET": "read", "POST": "write"})

    def __init__(self, *, prompts: PromptService, editor: PromptEditor, base: str, body_bytes: int) -> None:
        self._prompts = prompts
        self._editor = editor
        self._base = base
        self._body_bytes = body_bytes

    @operation("All prompts of the project, newest first", query=PageQuery, answers={200: answers.PromptList})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        page: Page = load(_PAGE, req.params)
        found = self._prompts.list(
            project_id=req.context.key.project_id, search=page.search, before_id=page.before_id, limit=page.limit
        )
        resp.media = prompt_records.listing(found, base=self._base)

    @operation(
        "Create a prompt and commit it, or with `commit` false leave it a draft",
        body=NewPromptSchema,
        answers={201: answers.CreatedPrompt},
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        key = req.context.key
        new = load(_NEW, read_json(req, self._body_bytes))
        created = self._editor.create(
            project_id=key.project_id, organization_id=key.organization_id, new=new, actor=key.actor
        )
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/prompts/{created.prompt_id}"
        resp.media = prompt_records.created(created)


class Prompt:
    access = ByKey({"GET": "read", "PATCH": "write", "DELETE": "write"})

    def __init__(self, *, prompts: PromptService, editor: PromptEditor, base: str, body_bytes: int) -> None:
        self._prompts = prompts
        self._editor = editor
        self._base = base
        self._body_bytes = body_bytes

    @operation("One prompt", query=WhichVersionQuery, answers={200: answers.Prompt}, answer_headers=("ETag",))
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        which: WhichVersion = load(_WHICH, req.params)
        view = self._prompts.get(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            productive=which.productive,
            commit_hash=which.commit_hash,
            epoch=req.context.epoch,
        )
        show(resp, view, base=self._base)

    @operation(
        "Edit the draft",
        body=DraftChangeSchema,
        headers=("If-Match",),
        answers={200: answers.Prompt},
        answer_headers=("ETag",),
        errors=(412,),
    )
    def on_patch(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        change = load(_CHANGE, read_json(req, self._body_bytes))
        key = req.context.key
        view = self._editor.change(
            project_id=key.project_id, prompt_id=prompt_id, change=change, if_match=if_match(req), actor=key.actor
        )
        show(resp, view, base=self._base)

    @operation("Archive the prompt", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        key = req.context.key
        self._editor.archive(project_id=key.project_id, prompt_id=prompt_id, actor=key.actor)
        resp.status = falcon.HTTP_204


class Render:
    """Rendering changes nothing, so that a key that may read may render."""

    access = ByKey({"POST": "read"})

    def __init__(self, *, prompts: PromptService, body_bytes: int) -> None:
        self._prompts = prompts
        self._body_bytes = body_bytes

    @operation(
        "The instruction that the model would receive",
        body=RenderSchema,
        body_optional=True,
        answers={200: answers.Rendered},
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        asked: RenderRequest = load(_RENDER, read_json(req, self._body_bytes, optional=True))
        result = self._prompts.render(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            selections=asked.selections,
            productive=asked.productive,
            commit_hash=asked.commit_hash,
            epoch=req.context.epoch,
        )
        resp.media = prompt_records.rendered_record(result)


class Preview:
    """What an editor shows while somebody types: nothing is stored, so that a key that may read may ask."""

    access = ByKey({"POST": "read"})

    def __init__(self, *, editor: PromptEditor, body_bytes: int) -> None:
        self._editor = editor
        self._body_bytes = body_bytes

    @operation(
        "The instruction that the draft would give after an edit", body=PreviewSchema, answers={200: answers.Rendered}
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        asked: PreviewRequest = load(_PREVIEW, read_json(req, self._body_bytes))
        result = self._editor.preview(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            change=asked.change,
            selections=asked.selections,
        )
        resp.media = prompt_records.rendered_record(result)


def show(resp: falcon.Response, view: PromptView, *, base: str) -> None:
    """The prompt, and the ETag of its draft where that is what is shown."""
    if view.etag is not None:
        resp.etag = view.etag
    resp.media = prompt_records.prompt_record(view, base=base)
