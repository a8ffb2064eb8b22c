"""The base of all pages: resources that answer with a template or a redirect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import falcon
from jinja2 import Environment

from app.errors import RateLimited, ServiceError
from app.http.access import Access, ByRole
from app.http.errors import status_of
from app.models.organizations import Role
from app.models.prompts import PromptHead
from app.services.accounts.sign_ins import StartedSession
from app.web.cookies import (
    ACCOUNT_COOKIE,
    DEVICE_COOKIE,
    FLASH_COOKIE,
    ONCE_COOKIE,
    OPENID_COOKIE,
    OPENID_PATH,
    SESSION_COOKIE,
    Cookies,
    Flash,
)
from app.web.visit import Visit
from app.web.zones import shown_in
from app.wiring.container import Container

# In elements with `data-base-url` the browser's script replaces this text by the address of the site.
UNKNOWN_BASE_URL = "$BASE_URL"
# Entries on one page of a list.
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Site:
    """Dependencies of every page."""

    container: Container
    templates: Environment
    cookies: Cookies


@dataclass(frozen=True, slots=True)
class ShownPage:
    """An HTML answer. The template sees `values` as attributes of `page`. A `problem` determines the status."""

    template: str
    values: dict[str, Any]
    problem: ServiceError | None = None


@dataclass(frozen=True, slots=True)
class Redirect:
    """An answer to a form that redirects to `path`, where `flash` is shown.

    `once` is a new secret that the page at `path` shows once; a reload does not make another one. That page must set
    `shows_once`. `started` is a new session of this browser; `ended` ends the present session. `attempt` is a
    sign-in at an OpenID provider, for the browser to keep; `path` is then the provider's address. With `returned` the
    browser forgets it.
    """

    path: str
    flash: str | Flash = ""
    started: StartedSession | None = None
    ended: bool = False
    once: str = ""
    attempt: str = ""
    returned: bool = False


@dataclass(frozen=True, slots=True)
class PlainText:
    """An answer without a template: a text as it was recorded."""

    text: str


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """An answer that is a file. With `inline` the browser may show it in a page, else it is saved."""

    content: bytes
    media_type: str
    name: str
    inline: bool = False


Reply = ShownPage | PlainText | FileAnswer | Redirect


def show(template: str, **values: Any) -> ShownPage:
    return ShownPage(template, values)


def confirm(
    visit: Visit, *, title: str, text: str, button: str, back: str, danger: bool = True, **fields: str | list[str]
) -> ShownPage:
    """Return a page that asks for confirmation. Its form is sent to the page's own address with hidden `fields`.

    `text` describes what is lost; `back` is the address of the previous page. Without `danger` nothing is lost, and
    the button is not red.
    """
    hidden = [
        (name, item) for name, value in fields.items() for item in (value if isinstance(value, list) else [value])
    ]
    texts = {"title": title, "text": text, "button": button, "kind": "danger" if danger else "primary"}
    return show("confirm.html", **texts, action=visit.path, back=back, fields=hidden)


class Page:
    """A resource with `get` and `post`. Their arguments are the visit and the address's parameters but `project_id`.

    `get` requires the role `reads`, `post` the role `changes`; a page outside projects declares `access` instead.
    `section` is the marked entry of the navigation. With `multipart` the form may have files and thousands of fields.
    With `shows_once` the page shows `visit.once`, which is then forgotten. After an error in `refusals` the form is
    shown again.
    """

    access: ClassVar[Access]
    reads: ClassVar[Role] = Role.VIEWER
    changes: ClassVar[Role] = Role.MEMBER
    multipart: ClassVar[bool] = False
    shows_once: ClassVar[bool] = False
    section: ClassVar[str] = ""
    refusals: ClassVar[tuple[type[ServiceError], ...]] = ()
    get: ClassVar[Callable[..., Reply]]
    post: ClassVar[Callable[..., Reply]]

    def __init_subclass__(cls) -> None:
        """Add Falcon's `on_get` and `on_post` for `get` and `post`, and their access."""
        for method in ("get", "post"):
            if hasattr(cls, method):
                setattr(cls, f"on_{method}", getattr(cls, f"_on_{method}"))
        if "access" not in vars(cls):
            roles = {"GET": cls.reads, "POST": cls.changes}
            cls.access = ByRole(
                {method: role for method, role in roles.items() if hasattr(cls, f"on_{method.lower()}")}
            )

    def __init__(self, site: Site) -> None:
        self.site = site
        self.container = site.container
        self.services = site.container.services

    def _on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int = 0, **ids: Any) -> None:
        self._send(req, resp, self.get(req.context.visit, **ids))

    def _on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int = 0, **ids: Any) -> None:
        visit: Visit = req.context.visit
        try:
            reply = self.post(visit, **ids)
        except self.refusals as error:
            reply = self.refuse(visit, error, **ids)
        self._send(req, resp, reply)

    def refuse(self, visit: Visit, error: ServiceError, **ids: Any) -> Reply:
        """Show the form again with the sent values, and the error's message and status."""
        reply = self.get(replace(visit, problem=error), **ids)
        return replace(reply, problem=error) if isinstance(reply, ShownPage) else reply

    def _send(self, req: falcon.Request, resp: falcon.Response, reply: Reply) -> None:
        if isinstance(reply, Redirect):
            return self._redirect(req, resp, reply)
        if isinstance(reply, PlainText):
            resp.content_type, resp.text = "text/plain; charset=utf-8", reply.text
            return None
        if isinstance(reply, FileAnswer):
            resp.content_type, resp.data = reply.media_type, reply.content
            if not reply.inline:
                resp.downloadable_as = reply.name
            return None
        visit: Visit = replace(req.context.visit, problem=reply.problem)
        if visit.flash:
            self.site.cookies.remove(resp, FLASH_COOKIE)
        if visit.once and self.shows_once:
            self.site.cookies.remove(resp, ONCE_COOKIE, path=visit.path)
        if isinstance(reply.problem, RateLimited):
            resp.set_header("Retry-After", str(reply.problem.retry_after_s))
        resp.status = status_of(reply.problem) if reply.problem else falcon.HTTP_200
        resp.content_type = falcon.MEDIA_HTML
        template = self.site.templates.get_template(reply.template)
        with shown_in(visit.zone):
            section = reply.values.get("section", self.section)
            resp.text = template.render(visit=visit, section=section, page=SimpleNamespace(**reply.values))
        return None

    def _redirect(self, req: falcon.Request, resp: falcon.Response, reply: Redirect) -> None:
        cookies = self.site.cookies
        if reply.started:
            cookies.put(req, resp, SESSION_COOKIE, reply.started.token)
            cookies.put(req, resp, DEVICE_COOKIE, reply.started.origin.device)
            cookies.put(req, resp, ACCOUNT_COOKIE, str(reply.started.user_id))
        if reply.ended:
            cookies.remove(resp, SESSION_COOKIE)
        if reply.once:
            cookies.put(req, resp, ONCE_COOKIE, reply.once, path=reply.path)
        if reply.attempt:
            cookies.put(req, resp, OPENID_COOKIE, reply.attempt, path=OPENID_PATH)
        if reply.returned:
            cookies.remove(resp, OPENID_COOKIE, path=OPENID_PATH)
        if reply.flash:
            cookies.put_flash(req, resp, reply.flash if isinstance(reply.flash, Flash) else Flash(reply.flash))
        resp.status = falcon.HTTP_303
        resp.location = reply.path

    def head(self, visit: Visit, prompt_id: int) -> PromptHead:
        return self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=True).head

    @property
    def base_url(self) -> str:
        """The address of this instance for callers, without a trailing slash.

        If it is not configured, the browser fills it in: a `Host` header can't be trusted.
        """
        return self.container.settings.public_url.rstrip("/") or UNKNOWN_BASE_URL


class PromptPage(Page):
    """A page about prompts, or the runs, sessions and replays of prompts."""

    section = "prompts"

    def suite_choices(self, visit: Visit, prompt_id: int) -> list[tuple[str, str]]:
        """Return the choices of what an experiment plays: all test cases, or those of a suite."""
        suites = self.services.suites.list(project_id=visit.project_id, prompt_id=prompt_id)
        return [("", "All test cases"), *((suite.name, f"The suite {suite.name}") for suite in suites)]


class SettingsPage(Page):
    """A page of the settings, only for admins."""

    reads = changes = Role.ADMIN
    section = "settings"
