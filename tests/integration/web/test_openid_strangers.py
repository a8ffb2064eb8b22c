"""Strangers with made-up codes of an OpenID provider stop no other person's sign-in there."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock
from urllib.parse import parse_qs

import httpx
import pytest
import structlog

from app.redis_store.rate import AttemptLimiter
from app.services.accounts.openid import OpenIdSignIns
from app.services.accounts.openid_limits import OpenIdLimits
from app.services.accounts.provider_places import HELD, ProviderPlaces
from app.web.cookies import ACCOUNT_COOKIE, DEVICE_COOKIE, OPENID_COOKIE
from tests.integration.web.conftest import Browser
from tests.integration.web.test_openid import fake, problem, provided, sent_away
from tests.support.backends import EACH_CONTAINER
from tests.support.openid import FakeProvider
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.world import World

__all__ = ["fake", "provided"]

pytestmark = EACH_CONTAINER
OF_NETWORK = OF_ACCOUNT = 3
Limit = Callable[..., None]


@pytest.fixture
def limit(world: World, monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Sets limits for the test, low ones if it does not choose others."""
    client = world.container.redis.quick

    def limit(*, network: int = OF_NETWORK, wait_s: float = 0) -> None:
        limits = OpenIdLimits(
            network=AttemptLimiter(client, network),
            account=AttemptLimiter(client, OF_ACCOUNT),
            attempt=AttemptLimiter(client, 1),
            places=ProviderPlaces(wait_s=wait_s),
        )
        monkeypatch.setattr(OpenIdSignIns, "limits", property(lambda _: limits))

    return limit


def somewhere() -> str:
    """An address of a network that no other test has: codes are counted for a minute."""
    return f"2001:db8:{secrets.randbelow(2**16):x}:{secrets.randbelow(2**16):x}::1"


class Codes:
    """The provider's answers to codes: that of a person is the name, each other one is refused with `status`.

    With `held`, refusals wait until `goes_on`. `asked` has all codes, `most` is how many were answered at once.
    """

    def __init__(self, fake: FakeProvider, *, held: bool = False, status: int = 400) -> None:
        self.fake, self.held, self.status = fake, held, status
        self.goes_on, self.asked, self.inside, self.most = Event(), list[str](), 0, 0
        self._nonces: dict[str, str] = {}
        self._lock = Lock()
        fake.answers["token"] = self._answer

    def of(self, name: str, nonce: str) -> str:
        """Return the code of a new person who signed in at the provider."""
        self._nonces[name] = nonce
        return name

    def _answer(self, request: httpx.Request) -> httpx.Response:
        [code] = parse_qs(request.content.decode())["code"]
        with self._lock:
            self.asked.append(code)
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            if (nonce := self._nonces.get(code)) is None:
                if self.held:
                    self.goes_on.wait()
                return httpx.Response(self.status, json={"error": "invalid_grant"})
            person = {"sub": code, "email": f"{code}@example.org", "groups": ["dev"], "nonce": nonce}
            return httpx.Response(200, json={"access_token": "at", "id_token": self.fake.signed(**person)})
        finally:
            with self._lock:
                self.inside -= 1


def arrived(browser: Browser, codes: Codes) -> str:
    """Let a person sign in at the provider; return the address where the provider sends them back."""
    query = sent_away(browser, codes.fake)
    return f"/sign-in/openid/return?code={codes.of(secrets.token_hex(8), query['nonce'])}&state={query['state']}"


def stranger_returns(browser: Browser, codes: Codes) -> str:
    """Return with a made-up code; the answer is the address of the next page."""
    state = sent_away(browser, codes.fake)["state"]
    return browser.open(f"/sign-in/openid/return?code=made-up&state={state}").headers["location"]


def person_signs_in(browser: Browser, codes: Codes) -> str:
    return browser.open(arrived(browser, codes)).headers["location"]


@contextmanager
def holding(world: World, codes: Codes, networks: list[str]) -> Iterator[list[Future[str]]]:
    """Let strangers of the networks hold all places that they get, until the end of the block."""
    strangers = [Browser(world, address=address) for address in networks * HELD.each]
    for stranger in strangers:
        sent_away(stranger, codes.fake)
    with ThreadPoolExecutor(len(strangers)) as threads:
        returning = [threads.submit(stranger_returns, stranger, codes) for stranger in strangers]
        try:
            wait_until(lambda: codes.inside == len(strangers), "all strangers hold a place")
            yield returning
        finally:
            codes.goes_on.set()


def test_strangers_of_one_network_hold_few_places(world: World, fake: FakeProvider, limit: Limit) -> None:
    limit(network=HELD.all)
    codes, network = Codes(fake, held=True), somewhere()

    with holding(world, codes, [network]) as held:
        for number in range(HELD.all):
            assert stranger_returns(Browser(world, address=f"{network}{number}"), codes) == "/sign-in"
        assert person_signs_in(Browser(world, address=somewhere()), codes) == "/"
        assert not any(stranger.done() for stranger in held)

    assert codes.asked.count("made-up") == HELD.each


def test_strangers_of_all_networks_hold_no_place_of_a_known_browser(
    world: World, fake: FakeProvider, limit: Limit
) -> None:
    limit()
    codes = Codes(fake, held=True)
    known, new = Browser(world, address=somewhere()), Browser(world, address=somewhere())
    assert person_signs_in(known, codes) == "/"

    with holding(world, codes, [somewhere() for _ in range(HELD.strangers // HELD.each)]) as held:
        assert person_signs_in(new, codes) == "/sign-in"
        assert "Too many people sign in at this moment" in problem(new)
        assert person_signs_in(known, codes) == "/"
        assert person_signs_in(replace(known, address=somewhere()), codes) == "/"
        assert not any(stranger.done() for stranger in held)

    assert person_signs_in(new, codes) == "/"


@pytest.mark.parametrize("status", [400, 429, 500])
def test_codes_that_the_provider_refuses_are_counted_by_network(
    world: World, fake: FakeProvider, limit: Limit, status: int
) -> None:
    limit()
    codes, office = Codes(fake, status=status), somewhere()
    known = Browser(world, address=office)
    assert person_signs_in(known, codes) == "/"
    codes.asked.clear()

    for number in range(OF_NETWORK + 3):
        stranger = Browser(world, address=f"{office}{number}")
        assert stranger_returns(stranger, codes) == "/sign-in"

    assert codes.asked == ["made-up"] * OF_NETWORK
    assert "Too many tries to sign in. Try again in" in problem(stranger)
    assert person_signs_in(Browser(world, address=office), codes) == "/sign-in"
    assert person_signs_in(Browser(world, address=somewhere()), codes) == "/"
    assert person_signs_in(known, codes) == "/"


def test_a_known_browser_tries_no_more_codes_than_others(world: World, fake: FakeProvider, limit: Limit) -> None:
    limit()
    codes, office = Codes(fake), somewhere()
    known = Browser(world, address=office)
    assert person_signs_in(known, codes) == "/"
    codes.asked.clear()

    for _ in range(OF_ACCOUNT + 2):
        stranger_returns(replace(known, address=somewhere()), codes)

    assert codes.asked == ["made-up"] * OF_ACCOUNT
    assert person_signs_in(Browser(world, address=office), codes) == "/"


@pytest.mark.parametrize("account", ["own", "0", "x", "-1", "٣", "9" * 18, "9" * 40])
def test_made_up_devices_and_accounts_are_strangers(
    world: World, fake: FakeProvider, limit: Limit, account: str
) -> None:
    limit()
    codes, network = Codes(fake), somewhere()
    known = Browser(world, address=somewhere())
    assert person_signs_in(known, codes) == "/"
    codes.asked.clear()
    claimed = known.cookies[ACCOUNT_COOKIE] if account == "own" else account

    for number in range(OF_NETWORK + 2):
        cookies = {ACCOUNT_COOKIE: claimed, DEVICE_COOKIE: f"device-{number}"}
        stranger_returns(Browser(world, address=network, cookies=cookies), codes)

    assert codes.asked == ["made-up"] * OF_NETWORK


def test_new_people_behind_one_address_sign_in_at_once(world: World, fake: FakeProvider, limit: Limit) -> None:
    count = 10
    limit(network=count, wait_s=PATIENCE_S)
    codes, office = Codes(fake), somewhere()
    people = [Browser(world, address=office) for _ in range(count)]
    returns = [arrived(person, codes) for person in people]

    with ThreadPoolExecutor(count) as threads:
        answers = list(threads.map(lambda person, path: person.open(path).headers["location"], people, returns))

    assert answers == ["/"] * count
    assert codes.most <= HELD.each
    for _ in range(count):
        stranger_returns(Browser(world, address=office), codes)
    assert codes.asked.count("made-up") == count


def test_an_attempt_ends_with_its_first_return(world: World, fake: FakeProvider, limit: Limit) -> None:
    limit()
    codes, browser = Codes(fake), Browser(world, address=somewhere())
    path = arrived(browser, codes)
    before = replace(browser, cookies=dict(browser.cookies))

    assert browser.open(path).headers["location"] == "/"
    assert OPENID_COOKIE not in browser.cookies
    assert browser.open(path).headers["location"] == "/sign-in"
    assert before.open(path).headers["location"] == "/sign-in"
    assert "came back before" in problem(before)
    assert len(codes.asked) == 1

    assert stranger_returns(before, codes) == "/sign-in"
    assert OPENID_COOKIE not in before.cookies


def test_the_return_of_another_browser_ends_no_attempt(world: World, fake: FakeProvider, limit: Limit) -> None:
    limit()
    codes, browser = Codes(fake), Browser(world, address=somewhere())
    path = arrived(browser, codes)

    assert browser.open("/sign-in/openid/return?code=c&state=of-another").headers["location"] == "/sign-in"
    assert browser.open(path).headers["location"] == "/"


def test_of_two_returns_at_once_one_asks_the_provider(world: World, fake: FakeProvider, limit: Limit) -> None:
    limit()
    codes, browser = Codes(fake, held=True), Browser(world, address=somewhere())
    state = sent_away(browser, fake)["state"]
    twin = replace(browser, cookies=dict(browser.cookies))

    with ThreadPoolExecutor(1) as threads:
        path = f"/sign-in/openid/return?code=held&state={state}"
        first = threads.submit(browser.open, path)
        try:
            wait_until(lambda: codes.inside, "the first return asks the provider")
            assert twin.open(path).headers["location"] == "/sign-in"
        finally:
            codes.goes_on.set()
        assert first.result().headers["location"] == "/sign-in"

    assert codes.asked == ["held"]
    assert "came back before" in problem(twin)
    assert "The provider refused" in problem(browser)


def test_codes_that_are_refused_leave_a_line(world: World, fake: FakeProvider, limit: Limit) -> None:
    limit()
    codes, network = Codes(fake), somewhere()

    with structlog.testing.capture_logs() as logs:
        for _ in range(OF_NETWORK + 1):
            stranger_returns(Browser(world, address=network), codes)

    failed = [(line["address"], line["failure"]) for line in logs if line["event"] == "sign_in_failed"]
    assert failed == [(network, "wrong")] * OF_NETWORK + [(network, "refused")]
