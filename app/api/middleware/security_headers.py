"""Headers that keep answers of the API what they are: data, never pages, and nobody's to keep."""

from __future__ import annotations

import falcon

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class SecurityHeaders:
    """Pages, and what leads to them, have a policy of their own (app/web/errors.py); what is said already stays."""

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        resp.set_header("X-Content-Type-Options", "nosniff")
        if resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", "no-store")
        for name, value in HEADERS.items():
            if resp.get_header(name) is None:
                resp.set_header(name, value)
