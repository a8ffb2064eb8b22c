"""One's own account: the password."""

from __future__ import annotations

import falcon

from app.access import SignedIn
from app.errors import Invalid, RateLimited
from app.web.views.sign_in import SignInForm
from app.web.visit import Visit


class Account(SignInForm):
    access = SignedIn({"GET", "POST"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        self.show(req, resp, "account.html", {"problem": ""})

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        visit: Visit = req.context.visit
        if visit.viewer is None:
            return self.lead(req, resp, "/sign-in")
        old, new = visit.form.text("old"), visit.form.text("new")
        origin = self.origin(req)
        try:
            started = self.services.sign_ins.change_password(viewer=visit.viewer, old=old, new=new, origin=origin)
        except (Invalid, RateLimited) as error:
            return self.refuse(req, resp, "account.html", {"problem": str(error)}, error)
        said = "Your password is changed; all other browsers are signed out."
        return self.enter(req, resp, started, "/account", said)
