"""Invitations: a second link, a removed member's link, passwords tried through one, and everything at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from app.errors import Conflict, Invalid, NotFound, RateLimited, ServiceError
from app.models.audit_log import SYSTEM
from app.models.organizations import Role
from app.services.accounts.service import NewUser
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.wiring.services import ATTEMPTS_OF_ACCOUNT_AND_ORIGIN
from tests.integration.security.conftest import OF_ACCOUNT_AND_ORIGIN, Door, somewhere
from tests.integration.web.conftest import PASSWORD, Browser, address
from tests.support.world import new_world

GRACE = NewUser("Grace", PASSWORD)


def invite(door: Door, email: str, role: Role = Role.MEMBER, organization_id: int | None = None) -> str:
    organization_id = organization_id or door.world.organization_id
    return door.accounts.invite(organization_id=organization_id, email=email, role=role, actor=SYSTEM)


def join(door: Door, token: str, new: NewUser = GRACE, origin: str = "") -> str:
    try:
        door.accounts.accept(token, new, SignInOrigin(origin or somewhere()))
    except ServiceError as error:
        return type(error).__name__
    return "joined"


def roles(door: Door) -> dict[str, Role]:
    members = door.accounts.members(organization_id=door.world.organization_id)
    return {member.email: member.role for member in members}


def open_for(door: Door, email: str) -> int:
    found = door.accounts.invitations(organization_id=door.world.organization_id)
    return sum(one.email == email for one in found)


def at_once(*work: Callable[[], str]) -> Sequence[str]:
    with ThreadPoolExecutor(len(work)) as pool:
        return [one.result() for one in [pool.submit(do) for do in work]]


def test_a_new_invitation_ends_the_one_before(door: Door) -> None:
    email = address()
    first, second = invite(door, email, Role.ADMIN), invite(door, email.upper(), Role.VIEWER)

    assert open_for(door, email) == 1
    assert join(door, first) == NotFound.__name__
    assert join(door, second) == "joined"
    assert roles(door)[email] is Role.VIEWER


def test_a_removed_member_comes_back_by_no_second_link(door: Door) -> None:
    email = address()
    tokens = [invite(door, email, Role.ADMIN) for _ in range(2)]
    door.account()
    door.accounts.accept(tokens[1], GRACE, SignInOrigin(somewhere()))
    user_id = next(
        one.user_id for one in door.accounts.members(organization_id=door.world.organization_id) if one.email == email
    )

    door.accounts.remove(organization_id=door.world.organization_id, user_id=user_id, actor=SYSTEM)

    assert {join(door, token) for token in tokens} == {NotFound.__name__}
    assert email not in roles(door)


def test_who_became_a_member_by_another_way_leaves_no_open_link(door: Door) -> None:
    email = address()
    token = invite(door, email, Role.ADMIN)

    door.accounts.ensure_admin(organization_id=door.world.organization_id, email=email, password=PASSWORD)

    assert open_for(door, email) == 0
    assert join(door, token) == NotFound.__name__


def test_an_invitation_of_another_organization_stays(door: Door) -> None:
    email, other = address(), new_world(door.world.container)
    elsewhere = invite(door, email, organization_id=other.organization_id)

    assert join(door, invite(door, email)) == "joined"
    assert join(door, elsewhere) == "joined"


def test_passwords_are_not_tried_through_an_invitation_either(door: Door) -> None:
    other, attacker, email = new_world(door.world.container), somewhere(), door.account()
    token = invite(door, email, organization_id=other.organization_id)

    answers = [join(door, token, NewUser("", f"a wrong guess {n}"), attacker) for n in range(OF_ACCOUNT_AND_ORIGIN + 2)]

    assert answers == [Invalid.__name__] * OF_ACCOUNT_AND_ORIGIN + [RateLimited.__name__] * 2
    assert door.try_(email, attacker) == "refused"
    assert join(door, token, NewUser("", PASSWORD), attacker) == RateLimited.__name__
    assert join(door, token, NewUser("", PASSWORD)) == "joined"


def test_the_page_explains_when_there_were_too_many_tries(admin: Browser) -> None:
    other = new_world(admin.world.container)
    accounts = admin.world.container.services.accounts
    token = accounts.invite(organization_id=other.organization_id, email=admin.email, role=Role.VIEWER, actor=SYSTEM)
    thief = Browser(admin.world, address=somewhere())
    thief.open(f"/join/{token}")

    answers = [thief.send(f"/join/{token}", password=f"guess {n}") for n in range(ATTEMPTS_OF_ACCOUNT_AND_ORIGIN + 1)]

    assert [answer.status_code for answer in answers] == [400] * ATTEMPTS_OF_ACCOUNT_AND_ORIGIN + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert "Too many tries" in thief.text


def test_of_many_who_invite_the_same_person_at_once_one_link_works(door: Door) -> None:
    email = address()

    tokens = at_once(*[lambda: invite(door, email)] * 8)

    assert open_for(door, email) == 1
    assert Counter(join(door, token) for token in tokens) == {"joined": 1, NotFound.__name__: 7}


def test_of_many_who_follow_an_invitation_at_once_one_joins(door: Door) -> None:
    email = address()
    token = invite(door, email)

    answers = at_once(*[lambda: join(door, token)] * 8)

    assert Counter(answers)["joined"] == 1
    assert set(answers) <= {"joined", NotFound.__name__, Invalid.__name__, Conflict.__name__, "Unavailable"}


def test_who_joins_two_organizations_at_once_is_one_user(door: Door) -> None:
    for _ in range(3):
        email, others = address(), [new_world(door.world.container) for _ in range(4)]
        tokens = [invite(door, email, organization_id=other.organization_id) for other in others]

        answers = at_once(*[lambda token=token: join(door, token) for token in tokens])

        assert Counter(answers)["joined"] >= 1
        assert set(answers) <= {"joined", Conflict.__name__}
        assert {join(door, token) for token in tokens} <= {"joined", NotFound.__name__}


def test_a_link_is_either_followed_or_withdrawn(door: Door) -> None:
    for _ in range(5):
        email = address()
        token = invite(door, email)
        [found] = [
            one for one in door.accounts.invitations(organization_id=door.world.organization_id) if one.email == email
        ]

        def withdraw(invitation_id: int = found.id) -> str:
            try:
                door.accounts.withdraw(
                    organization_id=door.world.organization_id, invitation_id=invitation_id, actor=SYSTEM
                )
            except NotFound:
                return "too late"
            return "withdrawn"

        joined, withdrawn = at_once(lambda token=token: join(door, token), withdraw)

        assert (joined, withdrawn) in {("joined", "too late"), (NotFound.__name__, "withdrawn")}
        assert (email in roles(door)) is (joined == "joined")
        assert open_for(door, email) == 0


def test_who_is_removed_while_invited_again_comes_back_only_by_an_invitation_after_it(door: Door) -> None:
    email = address()
    door.account()
    started = door.accounts.accept(invite(door, email, Role.ADMIN), GRACE, SignInOrigin(somewhere()))

    def again() -> str:
        try:
            return invite(door, email, Role.ADMIN)
        except Invalid:
            return ""

    def remove() -> str:
        door.accounts.remove(organization_id=door.world.organization_id, user_id=started.user_id, actor=SYSTEM)
        return ""

    token, _ = at_once(again, remove)

    assert email not in roles(door)
    assert open_for(door, email) == bool(token)
