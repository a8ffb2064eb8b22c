"""The cookies of the pages: session, device, account, form secret, and what the next page shows once."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Literal

import falcon
import orjson

from app.services.accounts.sign_in_attempts import REMEMBERED
from app.services.accounts.sign_ins import SESSION

SESSION_COOKIE = "reprise_session"
DEVICE_COOKIE = "reprise_device"
# The id of the account that signed in last.
ACCOUNT_COOKIE = "reprise_account"
FORM_COOKIE = "reprise_form"
FLASH_COOKIE = "reprise_flash"
# A new secret, such as an API key. Only the page that shows it receives the cookie.
ONCE_COOKIE = "reprise_once"
# The secrets of a sign-in at an OpenID provider, until the person is sent back.
OPENID_COOKIE, OPENID_PATH = "reprise_openid", "/sign-in/openid"
FLASH_LENGTH = 1000
# Seconds; None: until the browser is closed. Failed tries of a device that has signed in are counted separately.
LIFETIMES = {
    SESSION_COOKIE: int(SESSION.total_seconds()),
    DEVICE_COOKIE: int(REMEMBERED.total_seconds()),
    ACCOUNT_COOKIE: int(REMEMBERED.total_seconds()),
    FORM_COOKIE: None,
    FLASH_COOKIE: 60,
    ONCE_COOKIE: 60,
    OPENID_COOKIE: 600,
}


@dataclass(frozen=True, slots=True)
class Flash:
    """A message that the next page shows once. A form to the address `undo` reverts the change; "" if none does."""

    text: str
    kind: Literal["done", "problem"] = "done"
    undo: str = ""


@dataclass(frozen=True, slots=True)
class Cookies:
    """Writes cookies that scripts can't read and that other sites' forms do not send.

    With an https `public_url` they are secure even if the proxy does not forward the scheme.
    """

    public_url: str

    def put(self, req: falcon.Request, resp: falcon.Response, name: str, value: str, *, path: str = "/") -> None:
        secure = self.public_url.startswith("https:") or req.scheme == "https"
        age = LIFETIMES[name]
        resp.set_cookie(name, value, max_age=age, path=path, secure=secure, http_only=True, same_site="Lax")

    def put_flash(self, req: falcon.Request, resp: falcon.Response, flash: Flash) -> None:
        self.put(req, resp, FLASH_COOKIE, packed([flash.text[:FLASH_LENGTH], flash.kind, flash.undo]))

    def remove(self, resp: falcon.Response, name: str, *, path: str = "/") -> None:
        resp.unset_cookie(name, path=path, same_site="Lax")


def packed(fields: list[str]) -> str:
    """Return texts as the value of a cookie."""
    return base64.urlsafe_b64encode(orjson.dumps(fields)).decode().rstrip("=")


def unpacked(value: str, count: int) -> list[str] | None:
    """Return as many texts of a cookie; None if it can't be read. A stranger may have written it."""
    try:
        fields = orjson.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    except ValueError:
        return None
    is_list = isinstance(fields, list) and len(fields) == count
    return fields if is_list and all(isinstance(text, str) for text in fields) else None


def read_account(req: falcon.Request) -> int | None:
    """Return the id of the account that signed in last; None if the cookie has no id."""
    text = req.cookies.get(ACCOUNT_COOKIE, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def read_flash(req: falcon.Request) -> Flash | None:
    """Return the message of the previous page; None if the cookie can't be read."""
    if (fields := unpacked(req.cookies.get(FLASH_COOKIE, ""), 3)) is None:
        return None
    text, kind, undo = fields
    return Flash(text, "problem" if kind == "problem" else "done", undo if undo.startswith("/projects/") else "")
