"""Headers that keep answers of the API what they are: data, never pages, and nobody's to keep."""

from __future__ import annotations

import falcon

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class SecurityHeaders:
    """Pages have a policy of their own (app/web/errors.py); what says how it may be cached keeps saying so."""

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        resp.set_header("X-Content-Type-Options", "nosniff")
        if resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", "no-store")
        if resp.content_type != falcon.MEDIA_HTML:
            resp.set_headers(HEADERS)
