"""What every page is: a resource that shows a template or leads elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import falcon

from app.access import Access
from app.actors.replay_delivery import ReplayDelivery
from app.actors.run_delivery import RunDelivery
from app.container import Container
from app.services.wiring import Services
from app.timestamps import Now
from app.web.cookies import FLASH_COOKIE, Cookies, Flash
from app.web.shell import Shell
from app.web.templating import Templates

if TYPE_CHECKING:
    from app.web.visit import Visit

# Where a page marks it with `data-base-url`, the browser's script puts its own address in its place.
UNKNOWN_BASE_URL = "$BASE_URL"


@dataclass(frozen=True, slots=True)
class Site:
    """What pages are made with. `public_url` is "" when the instance does not know its own address."""

    services: Services
    templates: Templates
    cookies: Cookies
    now: Now
    public_url: str
    runs: RunDelivery
    replays: ReplayDelivery

    @classmethod
    def of(cls, container: Container, templates: Templates, cookies: Cookies) -> Site:
        return cls(
            services=container.services,
            templates=templates,
            cookies=cookies,
            now=container.now,
            public_url=container.settings.public_url,
            runs=container.run_delivery,
            replays=container.replay_delivery,
        )


class Page:
    """A page's project, if it has one, is `project_id` in its address.

    `access` says who may call its methods. `section` is the entry of the navigation that is marked; with `multipart`
    its form may bring files, and thousands of fields.
    """

    access: ClassVar[Access]
    multipart: ClassVar[bool] = False
    section: ClassVar[str] = ""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.services = site.services

    def show(
        self, req: falcon.Request, resp: falcon.Response, template: str, page: object, *, status: str = falcon.HTTP_200
    ) -> None:
        """Answer with the template; it sees `shell` (the layout) and `page` (what the presenter made)."""
        visit: Visit = req.context.visit
        if visit.flash:
            self.site.cookies.remove(resp, FLASH_COOKIE)
        resp.status = status
        resp.content_type = falcon.MEDIA_HTML
        resp.text = self.site.templates.render(template, shell=Shell.of(visit, self.section), page=page)

    def lead(self, req: falcon.Request, resp: falcon.Response, path: str, said: str | Flash = "") -> None:
        """Answer a form: go on to `path`, and say there what was done."""
        if said:
            flash = said if isinstance(said, Flash) else Flash(said)
            self.site.cookies.put_flash(req, resp, flash)
        resp.status = falcon.HTTP_303
        resp.location = path

    @staticmethod
    def query(req: falcon.Request) -> dict[str, str]:
        """The query string's fields, the last of each."""
        return {name: value if isinstance(value, str) else value[-1] for name, value in req.params.items()}

    @property
    def base_url(self) -> str:
        """The address under which callers reach this instance, without a slash at its end.

        When that is not known it is left to the browser: a `Host` header may say anything.
        """
        return self.site.public_url.rstrip("/") or UNKNOWN_BASE_URL
