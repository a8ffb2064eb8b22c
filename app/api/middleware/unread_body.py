"""Reads what is left of a body before the answer leaves: so that arrives, and the connection stays in step."""

from __future__ import annotations

import falcon

from app.api.bodies import discard_rest


class UnreadBody:
    """Whether the body was refused, or came with a request that takes none."""

    def process_response(
        self, req: falcon.Request, _resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        discard_rest(req)
