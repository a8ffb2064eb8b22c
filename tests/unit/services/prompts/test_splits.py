"""A split gives its share of the keys another version, and each key the same one every time."""

from __future__ import annotations

from datetime import UTC, datetime
from math import sqrt

from hypothesis import given
from hypothesis import strategies as st

from app.models.labels import Label, Split
from app.services.prompts.splits import chosen, position

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)
SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)
KEYS = 4_000


def label(name: str, share: float) -> Label:
    return Label(name, "old", NOW, split=Split("new", share))


@given(NAMES, SHARES, st.integers())
def test_a_share_is_met_within_binomial_error(name: str, share: float, salt: int) -> None:
    of = label(name, share)
    found = sum(chosen(of, f"{salt} {number}") == "new" for number in range(KEYS))
    # Five standard deviations, and five keys for the shares near 0 or 1, where errors are not normal.
    assert abs(found - KEYS * share) <= 5 * sqrt(KEYS * share * (1 - share)) + 5


@given(NAMES, st.text(min_size=1), SHARES, SHARES)
def test_a_share_that_grows_keeps_its_keys(name: str, key: str, one: float, other: float) -> None:
    smaller, larger = sorted((one, other))
    if chosen(label(name, smaller), key) == "new":
        assert chosen(label(name, larger), key) == "new"


@given(NAMES, st.text())
def test_places_of_keys_are_at_least_0_and_below_1(name: str, key: str) -> None:
    assert 0 <= position(name, key) < 1


@given(NAMES, st.one_of(st.none(), st.just("")), SHARES)
def test_without_a_key_and_without_a_split_it_is_the_labels_own_version(
    name: str, no_key: str | None, share: float
) -> None:
    assert chosen(label(name, share), no_key) == "old"
    assert chosen(Label(name, "old", NOW), "user 1") == "old"


def test_labels_split_the_keys_independently() -> None:
    both = sum(chosen(label("a", 0.5), str(key)) == chosen(label("b", 0.5), str(key)) == "new" for key in range(KEYS))
    assert abs(both - KEYS / 4) < 5 * sqrt(KEYS * 3 / 16)


def test_a_place_never_changes() -> None:
    """A key that is in a share stays there over releases, too."""
    places = [round(position("production", key), 6) for key in ("user 1", "user 2", "🙂")]
    assert places == [
        0.860761,
        0.412663,
        0.873965,
    ]
