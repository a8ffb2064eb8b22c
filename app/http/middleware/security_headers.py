"""Headers that keep answers of the API what they are: data, never pages, and nobody's to keep."""

from __future__ import annotations

import falcon

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


# A year in which browsers ask for nothing in the clear.
HSTS = {"Strict-Transport-Security": "max-age=31536000"}


class SecurityHeaders:
    """Said first, so that whatever answers may say otherwise: pages have a policy of their own (app/web/errors.py).

    With an https `public_url` all answers keep browsers to https, whichever proxy is in front.
    """

    def __init__(self, public_url: str = "") -> None:
        self._headers = HEADERS | (HSTS if public_url.startswith("https://") else {})

    def process_request(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.set_headers(self._headers)
