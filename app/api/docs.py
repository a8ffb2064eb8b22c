"""GET /api/docs: the OpenAPI document as a page, without a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import falcon

from app.access import Public
from app.api.openapi import OpenApi
from app.api.operation import Call, operation


@dataclass(frozen=True)
class ApiDocsPage:
    """`page` makes the HTML of the document, once."""

    access: ClassVar = Public({"GET"})
    openapi: OpenApi
    page: Callable[[Mapping[str, Any]], str]

    @cached_property
    def html(self) -> str:
        return self.page(self.openapi.document)

    @operation("The document as a page", answers={200: None}, texts=("text/html",))
    def on_get(self, call: Call) -> None:
        call.resp.content_type = falcon.MEDIA_HTML
        call.resp.text = self.html
