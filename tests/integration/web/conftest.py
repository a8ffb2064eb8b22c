"""Browsers without a screen: signed-in visitors of a project."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

import pytest
from falcon.testing import Result

from app.models.organizations import Role
from app.services.accounts.service import NewUser
from app.services.accounts.sign_in_attempts import SignInOrigin
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World

PASSWORD = "correct horse battery"
HTML = {"Accept": "text/html"}


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test of pages only on the embedded backend, unless it chooses others itself.

    The services that pages call are tested on both by the tests of the API; `test_access.py` opens every page on both.
    """
    chosen = any("container" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "container" in metafunc.fixturenames and not chosen:
        metafunc.definition.add_marker(EMBEDDED_CONTAINER)


@dataclass
class Browser:
    """Keeps cookies, reads the forms of the last page, sends them as people do."""

    world: World
    email: str = ""
    cookies: dict[str, str] = field(default_factory=dict)
    page: str = ""
    address: str = "127.0.0.1"

    @property
    def base(self) -> str:
        return f"/projects/{self.world.project_id}"

    def open(self, path: str) -> Result:
        return self._kept(
            self.world.client.simulate_get(path, headers=HTML, cookies=self.cookies, remote_addr=self.address)
        )

    def send(self, path: str, *, csrf: str | None = None, **fields: str | list[str]) -> Result:
        """POST a form, with the token of the last page unless given another; a list is a field with several values."""
        body = urlencode({"csrf": self.csrf if csrf is None else csrf, **fields}, doseq=True)
        headers = HTML | {"Content-Type": "application/x-www-form-urlencoded"}
        return self._kept(
            self.world.client.simulate_post(
                path, headers=headers, body=body, cookies=self.cookies, remote_addr=self.address
            )
        )

    @property
    def csrf(self) -> str:
        return re.search(r'name="csrf" value="(\w+)"', self.page)[1]  # type: ignore[index]

    @property
    def text(self) -> str:
        """The text that a person reads."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.page))

    def sign_in(self, email: str, password: str = PASSWORD) -> Result:
        self.open("/sign-in")
        return self.send("/sign-in", email=email, password=password)

    def follow(self, link: str) -> Result:
        """Open a sign-in link and send its form."""
        self.open(link)
        return self.send("/sign-in/link", token=link.partition("token=")[2])

    def _kept(self, answer: Result) -> Result:
        for name, cookie in answer.cookies.items():
            if cookie.value:
                self.cookies[name] = cookie.value
            else:
                self.cookies.pop(name, None)
        if answer.headers.get("content-type", "").startswith("text/") and answer.text:
            self.page = answer.text
        return answer


def address() -> str:
    """An e-mail that no other test has: the container is shared."""
    return f"{secrets.token_hex(6)}@example.org"


@pytest.fixture
def admin(world: World) -> Browser:
    email = address()
    world.container.services.accounts.ensure_admin(
        organization_id=world.organization_id, email=email, password=PASSWORD, name="Ada"
    )
    browser = Browser(world, email)
    browser.sign_in(email)
    return browser


@pytest.fixture
def member_of(world: World, admin: Browser) -> Callable[[Role], Browser]:
    """Makes a signed-in visitor with the role."""

    def make(role: Role) -> Browser:
        accounts, email = world.container.services.accounts, address()
        actor = world.container.services.sign_ins.viewer(admin.cookies["reprise_session"]).actor  # type: ignore[union-attr]
        token = accounts.invite(organization_id=world.organization_id, email=email, role=role, actor=actor)
        accounts.accept(token, NewUser("Grace", PASSWORD), SignInOrigin("127.0.0.1"))
        browser = Browser(world, email)
        browser.sign_in(email)
        return browser

    return make
