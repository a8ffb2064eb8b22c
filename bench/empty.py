"""A Falcon application whose only resource does nothing: what `bench.requests` compares with."""

from __future__ import annotations

import falcon


class Empty:
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.data = b"{}"


application: falcon.App[falcon.Request, falcon.Response] = falcon.App()
application.add_route("/", Empty())
