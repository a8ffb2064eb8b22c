"""Signing in by password or link, signing out, joining by invitation."""

from __future__ import annotations

from dataclasses import dataclass

import falcon

from app.access import Public
from app.errors import Invalid, RateLimited, Unauthorized
from app.services.accounts import NewUser
from app.web.cookies import SESSION_COOKIE, Flash
from app.web.page import Page
from app.web.visit import Visit, safe_path


@dataclass(frozen=True, slots=True)
class SignInPage:
    next: str
    email: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class InvitationPage:
    action: str
    organization: str
    role: str
    email: str
    name: str = ""
    problem: str = ""


class SignIn(Page):
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
        try:
            token = self.services.sign_ins.sign_in(email=email, password=form.text("password"), address=req.remote_addr)
        except (Unauthorized, RateLimited) as error:
            status = falcon.HTTP_429 if isinstance(error, RateLimited) else falcon.HTTP_401
            return self.show(req, resp, "sign_in.html", SignInPage(path, email, str(error)), status=status)
        self.site.cookies.put_session(req, resp, token)
        return self.lead(req, resp, path)


class SignInLink(Page):
    access = Public({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        try:
            token = self.services.sign_ins.follow_link(self.query(req).get("token", ""))
        except Unauthorized as error:
            return self.lead(req, resp, "/sign-in", Flash(str(error), "problem"))
        self.site.cookies.put_session(req, resp, token)
        return self.lead(req, resp, "/")


class SignOut(Page):
    access = Public({"POST"})

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        self.services.sign_ins.sign_out(req.cookies.get(SESSION_COOKIE, ""))
        self.site.cookies.remove(resp, SESSION_COOKIE)
        self.lead(req, resp, "/sign-in", "You are signed out.")


class Join(Page):
    access = Public({"GET", "POST"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        self.show(req, resp, "invitation.html", self._page(token))

    def on_post(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        form = req.context.visit.form
        new = NewUser(form.text("name"), form.text("password"))
        try:
            user_id = self.services.accounts.accept(token, new)
        except Invalid as error:
            page = self._page(token, new.name, str(error))
            return self.show(req, resp, "invitation.html", page, status=falcon.HTTP_400)
        self.site.cookies.put_session(req, resp, self.services.sign_ins.start(user_id))
        return self.lead(req, resp, "/", "Welcome. You are a member now.")

    def _page(self, token: str, name: str = "", problem: str = "") -> InvitationPage:
        found = self.services.accounts.invitation(token)
        return InvitationPage(f"/join/{token}", found.organization, found.role, found.email, name, problem)
