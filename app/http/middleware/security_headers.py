"""Sets headers that keep browsers from showing answers of the API as pages, and caches from keeping them."""

from __future__ import annotations

import falcon

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


# For a year browsers send no unencrypted request.
HSTS = {"Strict-Transport-Security": "max-age=31536000"}


class SecurityHeaders:
    """Sets the headers before a request is answered, so that pages can replace them (see `app/web/errors.py`).

    With an https `public_url` browsers are told to use https alone, whichever proxy is in front.
    """

    def __init__(self, public_url: str = "") -> None:
        self._headers = HEADERS | (HSTS if public_url.startswith("https://") else {})

    def process_request(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.set_headers(self._headers)
