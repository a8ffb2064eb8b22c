"""Takes each path in one spelling, which the router, the middleware and a proxy in front all read alike."""

from __future__ import annotations

import falcon


class OneSpelling:
    """Refuses, as an unknown path (404), one that does not begin with exactly one slash.

    Falcon's router skips leading slashes: `//api/v1/prompts` would be answered by the resource of `/api/v1/prompts`.
    So would a path that lost its slash to a `SCRIPT_NAME`. Who may call is decided by the resource all the same.
    """

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        # As it was sent: of `req.path` a slash at the end is gone, and with it one of "//".
        path = req.env["PATH_INFO"] or "/"
        if not path.startswith("/") or path.startswith("//"):
            raise falcon.HTTPRouteNotFound
