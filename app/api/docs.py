"""GET /api/docs: the OpenAPI document as a page, for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import falcon

from app.access import Public
from app.api.openapi import OpenApi
from app.api.operation import operation


class ApiDocsPage:
    """`page` makes the HTML of the document, once."""

    access = Public({"GET"})

    def __init__(self, *, openapi: OpenApi, page: Callable[[Mapping[str, Any]], str]) -> None:
        self._openapi = openapi
        self._page = page

    @cached_property
    def _html(self) -> str:
        return self._page(self._openapi.document)

    @operation("The document as a page", answers={200: None}, texts=("text/html",))
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.content_type = falcon.MEDIA_HTML
        resp.text = self._html
