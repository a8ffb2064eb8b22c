"""The spelling of numbers, times and lengths."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.web import filters
from app.web.templating import share

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(seconds=-3), "in a moment"),
        (timedelta(seconds=50), "1 minute ago"),
        (timedelta(seconds=100), "2 minutes ago"),
        (timedelta(minutes=59), "1 hour ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(hours=23), "1 day ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=-7), "in 7 days"),
        (timedelta(days=40), "31 Jan 2026"),
    ],
)
def test_a_time_is_shown_by_its_distance(ago: timedelta, words: str) -> None:
    assert filters.relative_to(lambda: NOW)(NOW - ago) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 ms"),
        (0.42, "0.4 ms"),
        (340, "340 ms"),
        (1234, "1.2 s"),
        (59_960, "1 min 0 s"),
        (123_000, "2 min 3 s"),
        (3_900_000, "1 h 5 min"),
    ],
)
def test_a_duration_has_the_unit_that_fits(ms: float, words: str) -> None:
    assert filters.duration(ms) == words


@pytest.mark.parametrize(
    ("usd", "words"),
    [(0, "$0"), (1204.5, "$1,204.50"), (0.01, "$0.01"), (0.0042, "$0.0042"), (0.000_000_1, "<$0.0001")],
)
def test_a_small_cost_keeps_two_digits(usd: float, words: str) -> None:
    assert filters.usd(usd) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (999_960, "1.0 MB"),
        (1234, "1.2 kB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_a_size_has_the_unit_that_fits(count: int, words: str) -> None:
    assert filters.size(count) == words


def test_json_is_indented_and_text_is_unchanged() -> None:
    assert filters.pretty({"ort": "Köln"}) == '{\n  "ort": "Köln"\n}'
    assert filters.pretty("{not json") == "{not json"


@given(st.tuples(*[st.integers(0, 2**62)] * 4))
@example((0, 97_322, 100_000, 100_000))
def test_a_span_lies_within_its_turn(times: tuple[int, int, int, int]) -> None:
    first, start, end, last = sorted(times)
    left, width = share(start, end, of=(first, last))

    assert 0 <= left <= 99.5
    assert 0 < width <= round(100 - left, 3)


@pytest.mark.parametrize("value", [{"a": [1, {"b": "é"}], "c": None}, [], 2**70, "\ud83d", {"half": "\ud83d"}])
def test_json_is_shown_indented_and_complete(value: object) -> None:
    shown = filters.pretty(value)
    assert shown == value or json.loads(shown) == value
    assert shown == (value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "yes"),
        (False, "no"),
        ([], "none"),
        (["a", None], "a, none"),
        ({"path": "/é"}, '{"path": "/é"}'),
        (30, "30"),
        ("<b>", "<b>"),
    ],
)
def test_a_detail_of_the_audit_log_is_no_python(value: object, text: str) -> None:
    assert filters.detail(value) == text


def test_what_is_between_backticks_is_code_and_markup_is_text() -> None:
    assert filters.coded("It calls `get_order` and `<b>`, & ends.") == (
        "It calls <code>get_order</code> and <code>&lt;b&gt;</code>, &amp; ends."
    )
    assert filters.coded("<b>") == "&lt;b&gt;"
    assert filters.coded("A tool with a `: `b` <i>") == "A tool with a `: `b` &lt;i&gt;"
    assert filters.coded("") == ""


@pytest.mark.parametrize(
    ("word", "html"),
    [
        ("admin@reprise.local", "admin@<wbr>reprise.<wbr>local"),
        ("user-17_b", "user-<wbr>17_<wbr>b"),
        ("<b>@x.org", "&lt;b&gt;@<wbr>x.<wbr>org"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_a_long_word_may_end_its_line_after_a_mark(word: str, html: str) -> None:
    assert filters.breakable(word) == html
