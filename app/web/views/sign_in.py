"""Signing in by password or link, signing out, joining by invitation, and the account's password."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from app.errors import Conflict, Invalid, RateLimited, Unauthorized, Unavailable
from app.http.access import BySession, Public
from app.network.openid import OpenIdAttempt
from app.services.accounts.service import NewUser
from app.web.cookies import Flash, packed, unpacked
from app.web.page import Page, Redirect, Reply, show
from app.web.visit import Visit


class SignIn(Page):
    access = Public({"GET", "POST"})
    refusals = (Unauthorized, RateLimited)

    def get(self, visit: Visit) -> Reply:
        path = safe_path(visit.sent.text("next", visit.query.get("next", "/")))
        if visit.viewer and not visit.problem:
            return Redirect(path)
        return show("sign_in.html", next=path, unsent="unsent" in visit.query, provider=self.services.openid.name)

    def post(self, visit: Visit) -> Reply:
        form = visit.form
        started = self.services.sign_ins.sign_in(
            email=form.text("email"), password=form.text("password"), origin=visit.origin, replaced=visit.session
        )
        return Redirect(safe_path(form.text("next", "/")), started=started)


class OpenIdSignIn(Page):
    """Sends the person to the OpenID provider."""

    access = Public({"GET"})

    def get(self, visit: Visit) -> Reply:
        try:
            attempt, address = self.services.openid.begin(visit.origin)
        except Unavailable as error:
            return Redirect("/sign-in", Flash(str(error), "problem"))
        kept = PendingSignIn(attempt, safe_path(visit.query.get("next", "/")))
        return Redirect(address, attempt=kept.packed)


class OpenIdReturn(Page):
    """The provider sends the person here, with a code or the reason of a refusal (RFC 6749, section 4.1.2)."""

    access = Public({"GET"})

    def get(self, visit: Visit) -> Reply:
        query, kept = visit.query, PendingSignIn.unpacked(visit.attempt)
        if not kept or not hmac.compare_digest(kept.attempt.state.encode(), query.get("state", "").encode()):
            problem = "This sign-in was begun in another browser, or too long ago. Try again."
            return Redirect("/sign-in", Flash(problem, "problem"))
        try:
            if "code" not in query:
                reason = query.get("error_description") or query.get("error") or "no reason was given"
                raise Unauthorized(f"The provider refused: {reason[:200]}")
            started = self.services.openid.finish(query["code"], kept.attempt, visit.origin, replaced=visit.session)
        except (Unauthorized, RateLimited, Unavailable, Invalid, Conflict) as error:
            return Redirect("/sign-in", Flash(str(error), "problem"), returned=True)
        return Redirect(kept.next, started=started, returned=True)


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """What the browser keeps until the provider sends it back. `next` is the path that was asked for."""

    attempt: OpenIdAttempt
    next: str

    @property
    def packed(self) -> str:
        return packed([self.attempt.state, self.attempt.nonce, self.attempt.verifier, self.next])

    @classmethod
    def unpacked(cls, value: str) -> PendingSignIn | None:
        """Return the content of a cookie; None if it can't be read."""
        if (fields := unpacked(value, 4)) is None or not "".join(fields[:3]).isascii():
            return None
        state, nonce, verifier, path = fields
        return cls(OpenIdAttempt(state, nonce, verifier), safe_path(path))


class SignInLink(Page):
    """A link that signs in once. Only its form signs in: previews of messages open links, too."""

    access = Public({"GET", "POST"})
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        token = visit.sent.text("token", visit.query.get("token", ""))
        try:
            link = self.services.sign_ins.require_link(token)
        except Unauthorized as error:
            return Redirect("/sign-in", Flash(str(error), "problem"))
        if visit.viewer and visit.viewer.user_id == link.user_id and not link.resets:
            return Redirect("/")
        return show("sign_in_link.html", token=token, link=link, replaces=_other(visit, link.email))

    def post(self, visit: Visit) -> Reply:
        token, password = visit.form.text("token"), visit.form.text("password")
        follow = self.services.sign_ins.follow_link
        try:
            started = follow(token, visit.origin, password=password, replaced=visit.session)
        except Unauthorized as error:
            return Redirect("/sign-in", Flash(str(error), "problem"))
        return Redirect("/", started=started)


class SignOut(Page):
    access = Public({"POST"})

    def post(self, visit: Visit) -> Reply:
        self.services.sign_ins.sign_out(visit.session)
        return Redirect("/sign-in", "You are signed out.", ended=True)


class Join(Page):
    access = Public({"GET", "POST"})
    refusals = (Invalid, RateLimited)

    def get(self, visit: Visit, token: str) -> Reply:
        invitation = self.services.accounts.invitation(token)
        return show("invitation.html", invitation=invitation, replaces=_other(visit, invitation.email))

    def post(self, visit: Visit, token: str) -> Reply:
        new = NewUser(visit.form.text("name"), visit.form.text("password"))
        invitation = self.services.accounts.invitation(token)
        started = self.services.accounts.accept(token, new, visit.origin, replaced=visit.session)
        return Redirect("/", f"Welcome to {invitation.organization}. Your role is {invitation.role}.", started)


class Account(Page):
    access = BySession({"GET", "POST"})
    refusals = (Invalid, RateLimited)

    def get(self, visit: Visit) -> Reply:
        return show("account.html")

    def post(self, visit: Visit) -> Reply:
        if visit.viewer is None:
            return Redirect("/sign-in")
        old, new = visit.form.text("old"), visit.form.text("new")
        started = self.services.sign_ins.change_password(viewer=visit.viewer, old=old, new=new, origin=visit.origin)
        return Redirect("/account", "Your password is changed; all other browsers are signed out.", started)


def safe_path(path: str) -> str:
    """Return the path if it is on this site, else "/", so that the sign-in never redirects to another site."""
    local = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if local and path.isprintable() else "/"


def _other(visit: Visit, email: str) -> str:
    """Return the viewer's e-mail; "" without a sign-in, or if it equals `email`."""
    return visit.viewer.email if visit.viewer and visit.viewer.email != email else ""
