"""Middleware that compresses pages, style sheets and scripts."""

from __future__ import annotations

import gzip

import falcon

from app.http.middleware import BODILESS

MEDIA_TYPES = frozenset(
    {"text/html", "text/css", "text/csv", "text/javascript", "application/javascript", "image/svg+xml"}
)
# Below this size gzip adds about as many bytes as it saves.
BYTES_MIN = 1000
GZIP_LEVEL = 5
# Browsers name the site that caused a request. Other callers, and browsers without TLS, do not.
OWN_REQUESTS = frozenset({"", "same-origin", "none"})


class Compression:
    """Compresses text for callers that accept gzip, unless another site caused the request.

    The length of a compressed page reveals whether text in the address is also on the page. A site that sends a
    visitor's browser here and sees the length on the network could guess a page's text letter by letter (BREACH).
    So requests from other sites get uncompressed pages.
    """

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        media_type = (resp.content_type or "").partition(";")[0].strip()
        if media_type not in MEDIA_TYPES or resp.stream is not None or resp.status_code in BODILESS:
            return
        resp.append_header("Vary", "Accept-Encoding, Sec-Fetch-Site")
        if not _accepts_gzip(req) or (req.get_header("Sec-Fetch-Site") or "") not in OWN_REQUESTS:
            return
        body = resp.render_body() or b""
        if len(body) < BYTES_MIN:
            return
        resp.text, resp.data = None, gzip.compress(body, GZIP_LEVEL, mtime=0)
        resp.set_header("Content-Encoding", "gzip")


def _accepts_gzip(req: falcon.Request) -> bool:
    """Return whether the caller names gzip without refusing it by a quality of zero."""
    for entry in (req.get_header("Accept-Encoding") or "").lower().split(","):
        name, _, quality = entry.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
