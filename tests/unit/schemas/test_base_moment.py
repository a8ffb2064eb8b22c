"""Times that callers send: with a zone, and within what the database can compare them to."""

from datetime import UTC, datetime

import pytest
from marshmallow import ValidationError

from app.schemas.base import Moment


def test_a_time_of_any_zone_becomes_utc() -> None:
    assert Moment().deserialize("2026-02-03T04:05:06+02:00") == datetime(2026, 2, 3, 2, 5, 6, tzinfo=UTC)
    assert Moment().deserialize("2026-02-03T04:05:06+02:00").tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-03T04:05:06",
        "4532-10-08T21:06:01+00:51",
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00+14:00",
        "1969-12-31T23:59:59Z",
        "2262-01-01T00:00:00Z",
        "yesterday",
        "",
        None,
        7,
    ],
)
def test_what_is_no_time_or_cant_be_counted_in_nanoseconds_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        Moment().deserialize(text)


@pytest.mark.parametrize("text", ["1970-01-01T00:00:00Z", "2261-12-31T23:59:59.999Z"])
def test_the_bounds_themselves_are_taken(text: str) -> None:
    assert Moment().deserialize(text).tzinfo is UTC
