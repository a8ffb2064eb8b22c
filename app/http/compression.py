"""Middleware that compresses pages, style sheets and scripts."""

from __future__ import annotations

import gzip

import falcon

from app.http.middleware import BODILESS

MEDIA_TYPES = frozenset(
    {"text/html", "text/css", "text/csv", "text/javascript", "application/javascript", "image/svg+xml"}
)
# Below it, what gzip adds is about what it takes off.
BYTES_MIN = 1000
LEVEL = 5
# Browsers name the site that asks; other callers, and browsers without TLS, name none.
OWN_REQUESTS = frozenset({"", "same-origin", "none"})


class Compression:
    """Compresses text for callers that take gzip, unless another site made the browser ask.

    The length of a compressed page tells whether text in the address is also on the page. A site that sends a
    visitor's browser here, and can see the length on the line, could guess a page's text letter by letter (BREACH).
    So the requests that it causes get pages as they are.
    """

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        media_type = (resp.content_type or "").partition(";")[0].strip()
        if media_type not in MEDIA_TYPES or resp.stream is not None or resp.status_code in BODILESS:
            return
        resp.append_header("Vary", "Accept-Encoding, Sec-Fetch-Site")
        if not _takes_gzip(req) or (req.get_header("Sec-Fetch-Site") or "") not in OWN_REQUESTS:
            return
        body = resp.render_body() or b""
        if len(body) < BYTES_MIN:
            return
        resp.text, resp.data = None, gzip.compress(body, LEVEL, mtime=0)
        resp.set_header("Content-Encoding", "gzip")


def _takes_gzip(req: falcon.Request) -> bool:
    """True if the caller names gzip and does not refuse it with a quality of zero."""
    for entry in (req.get_header("Accept-Encoding") or "").lower().split(","):
        name, _, quality = entry.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
