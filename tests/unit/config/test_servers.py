"""The servers that DATABASE_URL and REDIS_URL name."""

from __future__ import annotations

import pytest

from config.environment import SettingsError
from config.servers import Sentinels, hosts_of
from config.settings import Settings


@pytest.mark.parametrize(
    ("url", "first", "addresses"),
    [
        ("mysql://u:p@db/reprise", "mysql://u:p@db/reprise", [("db", 3306)]),
        ("mysql://u:p@a:1,b,c:3/reprise?ssl=1", "mysql://u:p@a:1/reprise?ssl=1", [("a", 1), ("b", 3306), ("c", 3)]),
        ("mysql://u:a%40b,c@a:1,b:2/d", "mysql://u:a%40b,c@a:1/d", [("a", 1), ("b", 2)]),
        ("mysql://[::1]:7,[fe80::2]/d", "mysql://[::1]:7/d", [("::1", 7), ("fe80::2", 3306)]),
    ],
)
def test_the_hosts_of_a_database_are_listed_in_their_order(
    url: str, first: str, addresses: list[tuple[str, int]]
) -> None:
    assert hosts_of(url, 3306) == (first, addresses)


def test_sentinels_are_named_with_the_service_that_they_watch() -> None:
    assert Sentinels.in_url("redis://a:6379/0") is None
    assert Sentinels.in_url("redis+sentinel://a:1,b/prime") == Sentinels(
        [("a", 1), ("b", 26379)], "prime", 0, None, None
    )
    found = Sentinels.in_url("redis+sentinel://me:s%40fe@a/prime/3")
    assert found == Sentinels([("a", 26379)], "prime", 3, "me", "s@fe")
    # As in Redis's URLs, a password may come without a user.
    assert Sentinels.in_url("redis+sentinel://:safe@a/prime") == Sentinels([("a", 26379)], "prime", 0, None, "safe")


@pytest.mark.parametrize(
    ("variable", "url", "words"),
    [
        ("DATABASE_URL", "mysql://u:secret@a:port/d", "one of its hosts is neither host nor host:port"),
        ("DATABASE_URL", "mysql://u:secret@a,,b/d", "one of its hosts is neither host nor host:port"),
        ("DATABASE_URL", "mysql://u:secret@a:99999/d", "one of its hosts is neither host nor host:port"),
        ("DATABASE_URL", "secret", "it is no URL"),
        ("DATABASE_URL", "postgres://u:secret@a/d", "it must be mysql://user:password@host:3306/name"),
        ("REDIS_URL", "redis+sentinel://:secret@a:1", "it must be redis+sentinel://host:26379,host:26379/service/0"),
        ("REDIS_URL", "redis+sentinel://:secret@a:1/prime/first", "it must be redis+sentinel://"),
    ],
)
def test_a_url_that_cannot_be_is_explained_without_its_password(variable: str, url: str, words: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.load({variable: url})

    assert str(raised.value).startswith(f"{variable}: its value can't be used: {words}")
    assert "secret" not in str(raised.value)
