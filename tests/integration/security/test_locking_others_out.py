"""Wrong passwords of others lock no user out of the places where they always sign in."""

from __future__ import annotations

from dataclasses import replace

from falcon.testing import TestClient
from sqlalchemy import func, select

from app.models import users
from app.process.application import build_app
from app.services.accounts.sign_in_attempts import ORIGINS_MAX, REMEMBERED, SignInOrigin
from app.wiring.services import ATTEMPTS_OF_ACCOUNT_AND_ORIGIN
from tests.integration.security.conftest import (
    OF_ACCOUNT,
    OF_ACCOUNT_AND_ORIGIN,
    OF_ORIGIN,
    Door,
    csrf_of,
    door_to,
    somewhere,
)
from tests.integration.web.conftest import HTML, Browser, address
from tests.support.world import World, beside


def hammer_from_everywhere(door: Door, email: str) -> None:
    """Until the account's tries of this minute are used up."""
    while "refused" not in door.hammer(email, somewhere(), 1):
        pass


def test_wrong_passwords_from_one_address_refuse_no_other(door: Door) -> None:
    email, home, attacker = door.account(), somewhere(), somewhere()

    assert door.hammer(email, attacker, 10) == ["wrong"] * OF_ACCOUNT_AND_ORIGIN + ["refused"] * 7
    assert door.try_(email, attacker) == "refused"
    assert door.try_(email, home) == "in"


def test_wrong_passwords_for_many_accounts_lock_none_of_them(door: Door) -> None:
    emails, attacker = [door.account() for _ in range(OF_ORIGIN + 2)], somewhere()

    answers = [answer for email in emails for answer in door.hammer(email, attacker, 1)]

    assert answers == ["wrong"] * OF_ORIGIN + ["refused"] * 2
    assert {door.try_(email, somewhere()) for email in emails} == {"in"}


def test_wrong_passwords_from_everywhere_refuse_only_where_the_account_never_signed_in(door: Door) -> None:
    email, home = door.account(), somewhere()
    door.try_(email, home)

    hammer_from_everywhere(door, email)

    assert door.try_(email, somewhere()) == "refused"
    assert door.try_(email, home) == "in"


def test_the_usual_address_is_remembered_when_redis_forgets(door: Door) -> None:
    email, home = door.account(), somewhere()
    door.try_(email, home)
    door.world.container.redis.commands.flushall()

    hammer_from_everywhere(door, email)

    assert door.try_(email, home) == "in"


def test_a_browser_that_signed_in_before_is_let_in_despite_an_attacker_at_the_same_address(door: Door) -> None:
    email, office = door.account(), somewhere()
    browser = door.sign_ins.sign_in(email=email, password="correct horse battery", origin=SignInOrigin(office)).origin
    assert browser.device

    door.hammer(email, office, OF_ACCOUNT_AND_ORIGIN)
    door.hammer("nobody@example.org", office, OF_ORIGIN)

    assert door.try_(email, office) == "refused"
    assert door.try_(email, browser) == "in"
    assert door.try_(email, replace(browser, address=somewhere())) == "in"


def test_a_made_up_browser_has_no_separate_attempts(door: Door) -> None:
    email, attacker = door.account(), somewhere()

    answers = [door.try_(email, SignInOrigin(attacker, f"device-{number}"), "a wrong guess") for number in range(10)]

    assert answers.count("wrong") == OF_ACCOUNT_AND_ORIGIN


def test_a_known_browser_may_guess_no_more_than_others(door: Door) -> None:
    email, other = door.account(), door.account()
    browser = door.sign_ins.sign_in(
        email=email, password="correct horse battery", origin=SignInOrigin(somewhere())
    ).origin

    own = [door.try_(email, browser, "a wrong guess") for _ in range(10)]
    others = [door.try_(other, browser, "a wrong guess") for _ in range(10)]

    assert own.count("wrong") == others.count("wrong") == OF_ACCOUNT_AND_ORIGIN


def test_the_addresses_of_one_customer_are_one(door: Door) -> None:
    email = door.account()

    answers = [door.try_(email, f"2001:db8:0:7::{number:x}", "a wrong guess") for number in range(10)]

    assert answers.count("wrong") == OF_ACCOUNT_AND_ORIGIN


def test_unknown_emails_are_counted_like_known_ones(door: Door) -> None:
    """One at a time from several addresses, then many from one."""
    known, unknown = door.account(), address()

    def story(email: str) -> list[str]:
        spread = [door.try_(email, somewhere(), "a wrong guess") for _ in range(OF_ACCOUNT + 2)]
        return [*spread, *door.hammer(email, somewhere(), 2)]

    assert story(known) == story(unknown)


def test_only_so_many_origins_are_remembered(door: Door) -> None:
    email, first = door.account(), somewhere()
    for place in [first, *(somewhere() for _ in range(ORIGINS_MAX))]:
        door.try_(email, place)

    with door.world.container.database.read() as connection:
        user = users.find_by_email(connection, email)
        assert user
        mine = users.known_origins.c.user_id == user.id
        kept = connection.scalar(select(func.count()).select_from(users.known_origins).where(mine))
    assert kept == ORIGINS_MAX
    hammer_from_everywhere(door, email)
    assert door.try_(email, first) == "refused"


def test_an_origin_is_forgotten_after_its_time(door: Door) -> None:
    email, home = door.account(), somewhere()
    door.try_(email, home)
    container = door.world.container
    late = container.now() + REMEMBERED
    later = door_to(replace(door.world, container=replace(container, now=lambda: late)))

    hammer_from_everywhere(door, email)

    assert later.try_(email, home) == "refused"


def test_behind_a_proxy_each_client_has_separate_attempts(world: World, admin: Browser) -> None:
    proxy = "10.255.0.1"
    container = beside(world.container, trusted_proxies=proxy)
    client = TestClient(build_app(container))

    def sign_in(client_address: str, password: str) -> int:
        asked = client.simulate_get("/sign-in", headers=HTML)
        headers = HTML | {"X-Forwarded-For": client_address, "Content-Type": "application/x-www-form-urlencoded"}
        body = f"csrf={csrf_of(asked.text)}&email={admin.email}&password={password}"
        cookies = {"reprise_form": asked.cookies["reprise_form"].value}
        answer = client.simulate_post("/sign-in", headers=headers, body=body, cookies=cookies, remote_addr=proxy)
        return answer.status_code

    attacker = somewhere()
    answers = [sign_in(attacker, "a+wrong+guess") for _ in range(ATTEMPTS_OF_ACCOUNT_AND_ORIGIN + 1)]

    assert answers == [401] * ATTEMPTS_OF_ACCOUNT_AND_ORIGIN + [429]
    assert sign_in(somewhere(), "correct+horse+battery") == 303
    container.services.sign_ins.journal.flush()
