"""Headers that keep answers of the API what they are: data, never pages, and nobody's to keep."""

from __future__ import annotations

import falcon

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class SecurityHeaders:
    """Said first, so that whatever answers may say otherwise: pages have a policy of their own (app/web/errors.py)."""

    def process_request(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.set_headers(HEADERS)
