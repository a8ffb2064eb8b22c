"""Failed attempts to sign in appear in the log, in a metric, and in the audit log of the account's organizations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import Mock, call

import pytest
import structlog

from app.errors import Unavailable
from app.metrics.registry import SIGN_INS
from app.models.audit_log import AuditEntry
from app.models.organizations import Role
from app.services.accounts import sign_in_attempts
from app.services.accounts.service import NewUser
from app.services.accounts.sign_in_attempts import SignInOrigin
from tests.integration.security.conftest import OF_ACCOUNT_AND_ORIGIN, Door, somewhere
from tests.integration.web.conftest import Browser, address
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

GUESS = "a wrong guess"


def lines(logs: list[Any], event: str) -> list[dict[str, Any]]:
    names = ("email", "address", "failure", "user_id", "way")
    return [{name: line[name] for name in names if name in line} for line in logs if line["event"] == event]


def entries(world: World) -> list[AuditEntry]:
    page = world.container.services.audit.page(organization_id=world.organization_id, limit=50, cursor=None)
    return [entry for entry in page.entries if entry.action == "sign_in.failed"]


def test_a_wrong_password_is_in_the_log_with_account_and_address(door: Door) -> None:
    email, attacker = door.account(), somewhere()

    with structlog.testing.capture_logs() as logs:
        door.hammer(email, attacker, OF_ACCOUNT_AND_ORIGIN + 1)

    wrong = {"email": email, "address": attacker, "failure": "wrong"}
    assert lines(logs, "sign_in_failed") == [wrong] * OF_ACCOUNT_AND_ORIGIN + [wrong | {"failure": "refused"}]
    assert GUESS not in str(logs)


def test_what_was_typed_in_place_of_an_account_is_in_no_log(door: Door) -> None:
    attacker = somewhere()

    with structlog.testing.capture_logs() as logs:
        door.try_("hunter2 typed too early", attacker)

    assert lines(logs, "sign_in_failed") == [{"email": None, "address": attacker, "failure": "wrong"}]
    assert "hunter2" not in str(logs)


def test_a_sign_in_is_in_the_log(door: Door) -> None:
    email, home = door.account(), somewhere()

    with structlog.testing.capture_logs() as logs:
        started = door.sign_ins.sign_in(email=email, password="correct horse battery", origin=SignInOrigin(home))

    assert lines(logs, "signed_in") == [{"user_id": started.user_id, "address": home, "way": "password"}]
    assert started.token not in str(logs)


def test_however_many_tries_fail_the_audit_log_has_one_entry_that_counts(door: Door) -> None:
    email = door.account()
    for _ in range(3):
        attacker = somewhere()
        door.hammer(email, attacker, OF_ACCOUNT_AND_ORIGIN)
        door.journal.flush()

    wait_until(lambda: counted(door.world) == 3 * OF_ACCOUNT_AND_ORIGIN, "all tries in the audit log")
    [entry] = entries(door.world)
    assert (entry.subject, entry.actor_name, entry.details["address"]) == (email, "Reprise", attacker)
    assert entry.details["wrong"] == "5"


def counted(world: World) -> int:
    return sum(int(entry.details.get(name, 0)) for entry in entries(world) for name in ("wrong", "refused"))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed attempts are written when a test asks for it."""
    monkeypatch.setattr(sign_in_attempts, "FLUSH_S", 3600)


@pytest.mark.usefixtures("unhurried")
def test_a_try_that_was_not_written_when_its_minute_ended_is_counted(door: Door) -> None:
    email, began = door.account(), door.world.container.now()
    for second in (0, 59.8, 60.1, 60.2):
        door.journal.now = lambda second=second: began + timedelta(seconds=second)
        if second == 59.8:
            door.journal.flush()
        door.hammer(email, somewhere(), 1)
    door.journal.flush()
    door.hammer(email, somewhere(), 1)
    door.journal.flush()

    assert sorted(entry.details["wrong"] for entry in entries(door.world)) == ["1", "4"]


@pytest.mark.usefixtures("unhurried")
def test_tries_that_the_database_refused_are_written_with_the_next_one(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    for email in (door.account(), door.account()):
        door.hammer(email, somewhere(), 2)
    with monkeypatch.context() as patched:
        patched.setattr(door.journal.database, "retrying", Mock(side_effect=Unavailable("It is away.")))
        with pytest.raises(Unavailable):
            door.journal.flush()
    door.hammer(door.account(), somewhere(), 1)
    door.journal.flush()

    assert sorted(entry.details["wrong"] for entry in entries(door.world)) == ["1", "2", "2"]


@pytest.mark.usefixtures("unhurried")
def test_a_process_that_ends_writes_its_tries_first(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    at_exit = Mock()
    monkeypatch.setattr(sign_in_attempts, "atexit", at_exit)
    door.hammer(door.account(), somewhere(), 2)
    # Journals of other tests may still have a timer.
    [flush] = [one for (one,), _ in at_exit.register.call_args_list if one.__self__ is door.journal]
    flush()

    assert counted(door.world) == 2
    assert call(flush) in at_exit.unregister.call_args_list


def test_every_organization_of_the_account_has_the_entry_and_no_other(door: Door) -> None:
    world, other, strange = door.world, new_world(door.world.container), new_world(door.world.container)
    email = door.account()
    owner = address()
    world.container.services.accounts.ensure_admin(
        organization_id=other.organization_id, email=owner, password="correct horse battery"
    )
    actor = world.container.services.sign_ins.viewer(
        door.sign_ins.sign_in(email=owner, password="correct horse battery", origin=SignInOrigin(somewhere())).token
    ).actor  # type: ignore[union-attr]
    token = door.accounts.invite(organization_id=other.organization_id, email=email, role=Role.VIEWER, actor=actor)
    door.accounts.accept(token, NewUser("", "correct horse battery"), SignInOrigin(somewhere()))

    door.hammer(email, somewhere(), 1)

    wait_until(lambda: counted(world) == counted(other) == 1, "the entries")
    assert counted(strange) == 0


def test_nobodys_email_leaves_no_entry(door: Door) -> None:
    door.try_(address(), somewhere())
    door.hammer(door.account(), somewhere(), 1)

    wait_until(lambda: counted(door.world) == 1, "the entry of the account")


@pytest.mark.parametrize(("password", "outcome"), [("correct horse battery", "password"), (GUESS, "wrong")])
def test_sign_ins_are_counted(door: Door, password: str, outcome: str) -> None:
    door.try_(door.account(), somewhere(), password)

    assert door.metrics.pending() == {(SIGN_INS, (outcome,), ""): 1}


def test_an_admin_reads_of_failed_sign_ins(admin: Browser) -> None:
    stranger = Browser(admin.world, address=somewhere())
    stranger.sign_in(admin.email, GUESS)

    wait_until(lambda: counted(admin.world) == 1, "the entry")
    admin.open(f"{admin.base}/settings/audit")
    assert f"Failed to sign in as {admin.email}" in " ".join(admin.text.split())
    assert stranger.address in admin.text
