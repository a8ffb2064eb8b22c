"""Errors as pages, and headers that restrict pages to content of this site."""

from __future__ import annotations

from dataclasses import dataclass

import falcon
import orjson
from jinja2 import Environment

from app.web.forms import csrf_token
from app.web.visit import Visit

TITLES = {
    400: "Invalid request",
    403: "No permission",
    404: "Page not found",
    409: "Not possible now",
    413: "Too large",
    429: "Too many requests",
    500: "Something broke",
    503: "Not available just now",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class PageAnswers:
    """Turns errors outside /api into pages for clients that accept HTML, and adds security headers to answers."""

    templates: Environment

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, succeeded: bool) -> None:
        if req.path.startswith("/api/") and resp.content_type != falcon.MEDIA_HTML:
            return
        resp.set_headers(HEADERS)
        if not succeeded and resp.status_code >= 400 and _reads_html(req):
            self._show(req, resp)
        if resp.content_type == falcon.MEDIA_HTML:
            resp.set_header("Cache-Control", "no-store")

    def _show(self, req: falcon.Request, resp: falcon.Response) -> None:
        visit = getattr(req.context, "visit", None) or Visit(csrf_token(""))
        page = {
            "status": resp.status_code,
            "title": TITLES.get(resp.status_code, "That did not work"),
            "message": orjson.loads(resp.data)["error"] if resp.data else "",
            "retry": resp.status_code == 503,
        }
        resp.data = None
        resp.content_type = falcon.MEDIA_HTML
        resp.text = self.templates.get_template("error.html").render(visit=visit, section="", page=page)


def _reads_html(req: falcon.Request) -> bool:
    # The first of equally good types wins. curl and probes accept */* and get JSON; browsers name HTML.
    return req.client_prefers([falcon.MEDIA_JSON, "text/html"]) == "text/html"
