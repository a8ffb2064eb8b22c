"""GET /api/docs: the OpenAPI document as a page, for all."""

from __future__ import annotations

from functools import cached_property

import falcon

from app.access import Public
from app.api.openapi import OpenApi
from app.api.operation import operation
from app.timestamps import Now
from app.web.assets import Assets
from app.web.presenters.api_docs import api_docs
from app.web.templating import Templates


class ApiDocsPage:
    access = Public({"GET"})

    def __init__(self, *, openapi: OpenApi, now: Now) -> None:
        self._openapi = openapi
        self._now = now

    @cached_property
    def _page(self) -> str:
        templates = Templates(assets=Assets(), now=self._now)
        return templates.render("api_docs.html", page=api_docs(self._openapi.document))

    @operation("The document as a page", answers={200: None}, texts=("text/html",))
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.content_type = falcon.MEDIA_HTML
        resp.text = self._page
