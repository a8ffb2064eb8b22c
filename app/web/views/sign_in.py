"""Signing in by password or link, signing out, joining by invitation."""

from __future__ import annotations

from dataclasses import dataclass

import falcon

from app.access import Public
from app.errors import Invalid, RateLimited, RepriseError, Unauthorized
from app.http.errors import status_of
from app.services.accounts.origins import Origin
from app.services.accounts.service import NewUser
from app.services.accounts.sign_ins import Started
from app.web.cookies import DEVICE_COOKIE, SESSION_COOKIE, Flash
from app.web.page import Page
from app.web.visit import Visit, safe_path


@dataclass(frozen=True, slots=True)
class SignInPage:
    next: str
    email: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LinkPage:
    """`replaces` is the e-mail of another person who is signed in in this browser."""

    token: str
    email: str
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class InvitationPage:
    """`replaces` is the e-mail of another person who is signed in in this browser."""

    action: str
    organization: str
    role: str
    email: str
    name: str = ""
    problem: str = ""
    replaces: str = ""


class SignInForm(Page):
    """A page whose form ends with a new session."""

    @staticmethod
    def origin(req: falcon.Request) -> Origin:
        return Origin(req.remote_addr, req.cookies.get(DEVICE_COOKIE, ""))

    @staticmethod
    def session(req: falcon.Request) -> str:
        """The browser's session so far; the form's token holds to it, so that nobody's is replaced unseen."""
        return req.cookies.get(SESSION_COOKIE, "")

    def enter(self, req: falcon.Request, resp: falcon.Response, started: Started, path: str, said: str = "") -> None:
        """Go on to `path`, signed in."""
        self.site.cookies.put_session(req, resp, started.token)
        self.site.cookies.put_device(req, resp, started.origin.device)
        self.lead(req, resp, path, said)

    def refuse(
        self, req: falcon.Request, resp: falcon.Response, template: str, page: object, error: RepriseError
    ) -> None:
        """Show the form again."""
        if isinstance(error, RateLimited):
            resp.set_header("Retry-After", str(error.retry_after_s))
        self.show(req, resp, template, page, status=status_of(error))


class SignIn(SignInForm):
    access = Public({"GET", "POST"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        visit: Visit = req.context.visit
        path = safe_path(self.query(req).get("next", "/"))
        if visit.viewer:
            return self.lead(req, resp, path)
        return self.show(req, resp, "sign_in.html", SignInPage(path))

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        form = req.context.visit.form
        path, email = safe_path(form.text("next", "/")), form.text("email")
        password, origin, replaced = form.text("password"), self.origin(req), self.session(req)
        try:
            started = self.services.sign_ins.sign_in(email=email, password=password, origin=origin, replaced=replaced)
        except (Unauthorized, RateLimited) as error:
            page = SignInPage(path, email, str(error))
            return self.refuse(req, resp, "sign_in.html", page, error)
        return self.enter(req, resp, started, path)


class SignInLink(SignInForm):
    """Looking at the link, as previews of messages do, changes nothing; its form signs in, once."""

    access = Public({"GET", "POST"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        visit: Visit = req.context.visit
        token = self.query(req).get("token", "")
        try:
            found = self.services.sign_ins.find_link(token)
        except Unauthorized as error:
            return self.lead(req, resp, "/sign-in", Flash(str(error), "problem"))
        if visit.viewer and visit.viewer.user_id == found.user_id:
            return self.lead(req, resp, "/")
        return self.show(req, resp, "sign_in_link.html", LinkPage(token, found.email, _other(visit, found.email)))

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        token, origin = req.context.visit.form.text("token"), self.origin(req)
        try:
            started = self.services.sign_ins.follow_link(token, origin, replaced=self.session(req))
        except Unauthorized as error:
            return self.lead(req, resp, "/sign-in", Flash(str(error), "problem"))
        return self.enter(req, resp, started, "/")


class SignOut(Page):
    access = Public({"POST"})

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        self.services.sign_ins.sign_out(req.cookies.get(SESSION_COOKIE, ""))
        self.site.cookies.remove(resp, SESSION_COOKIE)
        self.lead(req, resp, "/sign-in", "You are signed out.")


class Join(SignInForm):
    access = Public({"GET", "POST"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        self.show(req, resp, "invitation.html", self._page(req, token))

    def on_post(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        form = req.context.visit.form
        new = NewUser(form.text("name"), form.text("password"))
        try:
            started = self.services.accounts.accept(token, new, self.origin(req), replaced=self.session(req))
        except (Invalid, RateLimited) as error:
            page = self._page(req, token, new.name, str(error))
            return self.refuse(req, resp, "invitation.html", page, error)
        return self.enter(req, resp, started, "/", "Welcome. You are a member now.")

    def _page(self, req: falcon.Request, token: str, name: str = "", problem: str = "") -> InvitationPage:
        found = self.services.accounts.invitation(token)
        replaces = _other(req.context.visit, found.email)
        return InvitationPage(
            f"/join/{token}", found.organization, found.role, found.email, name, problem, replaces
        )  # fmt: skip


def _other(visit: Visit, email: str) -> str:
    """The e-mail of who is signed in, unless it is that one."""
    return visit.viewer.email if visit.viewer and visit.viewer.email != email else ""
