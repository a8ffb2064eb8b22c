"""The cookies of the pages: who is signed in, whose form it is, and what to say on the next page."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Literal

import falcon
import orjson

from app.services.accounts.origins import REMEMBERED
from app.services.accounts.sign_ins import SESSION

SESSION_COOKIE = "reprise_session"
DEVICE_COOKIE = "reprise_device"
FORM_COOKIE = "reprise_form"
FLASH_COOKIE = "reprise_flash"
FLASH_S = 60
FLASH_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Flash:
    """What happened, told once, on the page that follows."""

    text: str
    kind: Literal["done", "problem"] = "done"


class Cookies:
    """Writes cookies that no script can read and no other site can send along with a form.

    `public_url` beginning with https makes them secure even when the proxy in front forgets to say so.
    """

    def __init__(self, public_url: str) -> None:
        self._https = public_url.startswith("https:")

    def put_session(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        self._put(req, resp, SESSION_COOKIE, token, max_age=int(SESSION.total_seconds()))

    def put_device(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        """A browser that signed in once has tries of its own; it opens nothing."""
        self._put(req, resp, DEVICE_COOKIE, token, max_age=int(REMEMBERED.total_seconds()))

    def put_form(self, req: falcon.Request, resp: falcon.Response, token: str) -> None:
        self._put(req, resp, FORM_COOKIE, token, max_age=None)

    def put_flash(self, req: falcon.Request, resp: falcon.Response, flash: Flash) -> None:
        packed = base64.urlsafe_b64encode(orjson.dumps([flash.text[:FLASH_LENGTH], flash.kind])).decode().rstrip("=")
        self._put(req, resp, FLASH_COOKIE, packed, max_age=FLASH_S)

    def remove(self, resp: falcon.Response, name: str) -> None:
        resp.unset_cookie(name, path="/", same_site="Lax")

    def _put(self, req: falcon.Request, resp: falcon.Response, name: str, value: str, *, max_age: int | None) -> None:
        secure = self._https or req.scheme == "https"
        resp.set_cookie(name, value, max_age=max_age, path="/", secure=secure, http_only=True, same_site="Lax")


def read_flash(req: falcon.Request) -> Flash | None:
    """What the page before left; a cookie that is not ours says nothing."""
    packed = req.cookies.get(FLASH_COOKIE)
    if not packed:
        return None
    try:
        text, kind = orjson.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    except (ValueError, TypeError, binascii.Error):
        return None
    return Flash(str(text), "problem" if kind == "problem" else "done")
