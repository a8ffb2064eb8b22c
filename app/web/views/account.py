"""One's own account: the password."""

from __future__ import annotations

import falcon

from app.access import SignedIn
from app.errors import Invalid, RateLimited
from app.web.page import Page
from app.web.visit import Visit


class Account(Page):
    access = SignedIn({"GET", "POST"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        self.show(req, resp, "account.html", {"problem": ""})

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        visit: Visit = req.context.visit
        if visit.viewer is None:
            return self.lead(req, resp, "/sign-in")
        old, new = visit.form.text("old"), visit.form.text("new")
        try:
            token = self.services.sign_ins.change_password(viewer=visit.viewer, old=old, new=new)
        except (Invalid, RateLimited) as error:
            return self.show(req, resp, "account.html", {"problem": str(error)}, status=falcon.HTTP_400)
        self.site.cookies.put_session(req, resp, token)
        return self.lead(req, resp, "/account", "Your password is changed; all other browsers are signed out.")
