"""No organization occupies what others need, and a single one gets everything."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.concurrency.quotas import Quota, Shares

PLACES, PERCENT = st.integers(1, 200), st.integers(1, 100)


@given(places=PLACES, percent=PERCENT)
def test_a_single_organization_gets_every_place_and_no_more(places: int, percent: int) -> None:
    shares = Shares(Quota.of(places, percent))

    assert sum(shares.take(1) for _ in range(2 * places + 2)) == places


@given(places=PLACES, percent=PERCENT)
def test_while_the_first_has_all_each_next_one_finds_half_of_what_is_left(places: int, percent: int) -> None:
    shares = Shares(Quota.of(places, percent))
    while shares.take(0):
        pass
    left = shares.quota.share
    assert left * 100 >= places * percent

    for organization_id in range(1, 20):
        found = sum(shares.take(organization_id) for _ in range(places))
        assert found == (left + 1) // 2
        left -= found
    assert left == 0


@given(places=PLACES, percent=PERCENT)
def test_what_becomes_free_goes_to_those_below_their_shares(places: int, percent: int) -> None:
    shares = Shares(Quota.of(places, percent))
    assume(places > 2 * shares.quota.share)
    while shares.take(1):
        pass

    for _ in range(shares.quota.share):
        while shares.take(2):
            pass
        shares.release(1)
        assert not shares.take(1)

    while shares.take(2):
        pass
    assert shares.held[2] == shares.quota.share


@given(places=PLACES, percent=PERCENT, sizes=st.lists(st.integers(1, 300), max_size=30))
def test_places_that_are_taken_at_once_are_within_the_capacity_unless_one_holder_needs_more(
    places: int, percent: int, sizes: list[int]
) -> None:
    shares = Shares(Quota.of(places, percent))
    admitted = [size for number, size in enumerate(sizes) if shares.take(number % 3, size)]

    assert shares.taken == sum(admitted) <= max([shares.quota.capacity, *admitted[:1]])
    assert admitted[:1] == sizes[:1]


def test_another_organization_gets_places_at_once_within_its_share() -> None:
    shares = Shares(Quota.of(100, 20))
    assert shares.take(1, 100)

    assert not shares.take(1)
    assert not shares.take(2, 21)
    assert shares.take(2, 20)
    shares.release(2, 20)
    assert shares.held == {1: 100}


@given(capacity=st.integers(2, 2000), percent=PERCENT)
def test_a_quota_within_a_capacity_fits_and_leaves_a_share_free(capacity: int, percent: int) -> None:
    quota = Quota.within(capacity, percent)

    assert quota.places + quota.share == quota.capacity <= capacity
    assert Quota.of(quota.places + 1, percent).capacity > capacity


@given(places=st.integers(2, 2000), percent=st.integers(1, 99))
def test_work_in_the_background_gets_a_place_and_leaves_a_share(places: int, percent: int) -> None:
    quota = Quota.for_background(places, percent)

    assert quota.places >= 1
    assert quota.capacity <= max(1, places - Quota.of(places, percent).share)


@pytest.mark.parametrize(("capacity", "places"), [(1, 1), (2, 1), (3, 2), (5, 4), (10, 8), (80, 64), (650, 520)])
def test_a_capacity_is_divided_into_places_and_a_share(capacity: int, places: int) -> None:
    assert Quota.within(capacity, 25).places == places
    assert Quota.within(capacity, 25).capacity == capacity


def test_a_quota_has_no_more_places_than_wanted() -> None:
    assert Quota.within(1000, 25, places=8) == Quota.of(8, 25) == Quota(8, 2, 10)


class Organizations(RuleBasedStateMachine):
    """Any number of organizations that occupy and leave places in any order."""

    @initialize(places=st.integers(1, 12), percent=PERCENT)
    def begin(self, places: int, percent: int) -> None:
        self.shares = Shares(Quota.of(places, percent))
        self.held: dict[int, int] = {}

    @rule(organization_id=st.integers(1, 6))
    def take(self, organization_id: int) -> None:
        quota, before = self.shares.quota, dict(self.held)
        held, taken = before.get(organization_id, 0), sum(before.values())
        taken_one = self.shares.take(organization_id)
        if taken_one:
            self.held[organization_id] = held + 1
        free = quota.capacity - taken
        if held == 0:
            assert taken_one == (free > 0)
        elif held < quota.share:
            assert taken_one == (held < free)
        else:
            assert taken_one == (free > quota.share)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        organization_id = data.draw(st.sampled_from(sorted(self.held)))
        self.shares.release(organization_id)
        self.held[organization_id] -= 1
        self.held = {one: places for one, places in self.held.items() if places}

    @invariant()
    def what_is_held_is_counted_and_fits(self) -> None:
        assert self.shares.held == self.held
        assert self.shares.taken == sum(self.held.values()) <= self.shares.quota.capacity

    @invariant()
    def those_over_their_shares_leave_the_reserve_free(self) -> None:
        quota = self.shares.quota
        over = sum(places for places in self.held.values() if places > quota.share)
        assert over <= max(quota.places, quota.share)


TestOrganizations = Organizations.TestCase
