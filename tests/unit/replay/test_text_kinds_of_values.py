"""What the arguments of agents hold: an equal effect passes or is open, a certain difference in effect fails."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from app.replay.arguments import CallRules, compare_arguments
from app.replay.case_types import Effect
from app.replay.matcher_places import ranked
from app.replay.texts.sources import Sources

Outcome = Literal["equal", "open", "failed"]


def compared(left: Any, right: Any, effect: Effect = "write") -> Outcome:
    comparison = compare_arguments(left, right, ranked({}), Sources, rules=CallRules(effect))
    return "failed" if comparison.differences else "open" if comparison.open else "equal"


# The key, the recorded value, the ones that a reader may find equal, and the ones that are certainly different.
KINDS: list[tuple[str, Any, list[Any], list[Any]]] = [
    (
        "phone",
        "+49 30 1234567",
        ["+49301234567", "0049 30 1234567", "+49-30-1234567"],
        ["+49 30 1234568", "+43 30 1234567"],
    ),
    (
        "iban",
        "DE89 3704 0044 0532 0130 00",
        ["DE89370400440532013000", "de89 3704 0044 0532 0130 00"],
        ["DE89 3704 0044 0532 0130 01"],
    ),
    (
        "amount",
        "1,250.00 EUR",
        ["€1250", "1250 EUR", "EUR 1,250"],
        ["1,250.00 USD", "1,250.01 EUR", "12,500 EUR", "-1250 EUR"],
    ),
    ("amount", 1250, [1250.0, "1250", "1250.00"], [1250.5, 125, -1250, "1,250.5", True, None]),
    ("duration", "90m", ["1h30m", "5400s"], ["90s", "91m", "90h", "-90m"]),
    ("duration", "PT1H30M", ["PT90M"], ["PT90S", "P1M", "PT1H", "P1DT1H30M"]),
    (
        "at",
        "2027-01-16T20:00:00Z",
        ["2027-01-16T21:00:00+01:00", "2027-01-16T20:00:00.000Z"],
        ["2027-01-16T20:00:00+01:00", "2027-01-16T20:01:00Z"],
    ),
    ("dose", "0.5 g", ["500 mg", "500000 mcg", "0.5g"], ["5 g", "500 g", "500 mL", "0.5 Mg", "0.05 kg"]),
    ("quota", "1.5 GB", ["1500 MB", "1.5GB"], ["1500 GB", "1500 Mb", "1.5 GiB", "15 GB"]),
    ("disk", "2 GiB", ["2048 MiB"], ["2 GB", "2048 MB"]),
    ("labels", "app=web,tier=front", [], ["app=front,tier=web", "app=web;tier=front", "app=web"]),
    ("assigned", "A=1;B=$A", [], ["B=$A;A=1"]),
    ("day", "2027-01-06", ["2027-01-06 00:00:00", "2027-01-06T00:00+01:00"], ["2027-01-06 12:00", "2027-01-07 00:00"]),
    ("date", "2027-01-06", ["6 January 2027", "Jan 6, 2027"], ["2027-06-01", "2026-01-06", "2027-01-07"]),
    (
        "path",
        "/srv/app/config.yml",
        ["/srv/app/./config.yml", "/srv/app//config.yml", "/srv/app/x/../config.yml"],
        ["/srv/app/Config.yml", "/srv/app/config.yml.bak", "srv/app/config.yml", "~/app/config.yml"],
    ),
    (
        "url",
        "https://a.example/p?x=1&y=2",
        ["https://A.example/p?y=2&x=1"],
        [
            "https://a.example/p?x=1&y=3",
            "https://a.example/P?x=1&y=2",
            "http://a.example/p?x=1&y=2",
            "https://a.example/p?x=1",
            "https://b.example/p?x=1&y=2",
        ],
    ),
    (
        "url",
        "https://a.example/~b/c%20d",
        ["https://a.example/%7Eb/./c%20d", "https://a.example/x/../~b/c%20d", "https://a.example/%7eb/c%20d"],
        ["https://a.example/~b/../c%20d", "https://a.example/~b/c%2520d", "https://a.example/~b%2Fc%20d"],
    ),
    (
        "url",
        "https://a.example/p",
        ["https://a.example/p/", "https://a.example:443/p"],
        ["https://a.example:8443/p", "https://a.example/p#b", "https://u@a.example/p"],
    ),
    ("id", "INV-2031", ["inv-2031", "INV2031", "INV 2031"], ["INV-2032", "2031", "ORD-2031", "INV-203-1x"]),
    (
        "to",
        "ada@example.com",
        ["Ada@Example.com", "Ada Lovelace <ada@example.com>"],
        ["ada@example.org", "adam@example.com", "ada@example.com.evil.example"],
    ),
    (
        "to",
        ["a@x.example", "b@x.example"],
        [["b@x.example", "a@x.example"]],
        [
            ["a@x.example"],
            ["a@x.example", "c@x.example"],
            ["a@x.example", "b@x.example", "c@x.example"],
            ["a@x.example", "a@x.example"],
        ],
    ),
    ("to", ["a@x.example"], ["a@x.example"], ["b@x.example", []]),
    ("tags", "red, blue", [["red", "blue"]], [["red"], ["red", "green"]]),
    (
        "position",
        {"lat": 52.52, "lng": 13.405},
        [{"lng": 13.405, "lat": 52.520}, {"lat": "52.52", "lng": 13.405}],
        [{"lat": 13.405, "lng": 52.52}, {"lat": -52.52, "lng": 13.405}, {"lat": 52.53, "lng": 13.405}],
    ),
    ("position", "52.52,13.405", ["52.52, 13.405", "52.520,13.405"], ["13.405,52.52", "52.52,-13.405", "52.52,13.406"]),
    ("cells", [["a", 1], ["b", 2]], [[["a", "1"], ["b", "2"]]], [[["a", 2], ["b", 1]], [["a", 1]]]),
    ("range", "Sheet1!A1:B2", ["sheet1!A1:B2"], ["Sheet1!A1:B3", "Sheet2!A1:B2", "Sheet1!A1"]),
    ("formula", "=SUM(A1:A9)", [], ["=SUM(A1:A8)", "=AVERAGE(A1:A9)", "=-SUM(A1:A9)"]),
    ("cron", "0 8 * * 1", ["0 8 * * MON"], ["0 8 * * 2", "8 0 * * 1", "0 8 1 * *"]),
    ("jq", ".items[] | .id", [".items[]|.id"], [".items[] | .name", "del(.items[])"]),
    (
        "filter",
        {"status": {"$in": ["a", "b"]}},
        [{"status": {"$in": ["b", "a"]}}],
        [{"status": {"$nin": ["a", "b"]}}, {"status": "a"}, {}],
    ),
    (
        "update",
        {"$set": {"state": "paid"}},
        [],
        [{"$unset": {"state": "paid"}}, {"$set": {"state": "open"}}, {"state": "paid"}],
    ),
    ("enabled", True, ["true"], [False, "false", 0, None]),
    ("count", 3, [3.0, "3"], [4, -3, 30, "three"]),
    ("percent", "15 %", ["15%"], ["0.15", "15", "1.5 %", "-15 %"]),
    ("ratio", 0.1, ["0.1", "0.10"], [0.01, 1, 10]),
    ("account", "0012345", ["00 12345"], ["12345", "0012346", 12345]),
    ("version", "v2.10.0", [], ["v2.1.0", "v2.10.1", "v3.0.0"]),
    ("branch", "feature/Login", [], ["feature/Logout", "main"]),
    ("password", "Secret-1a", [], ["Secret-1b", "Other-1a"]),
    ("size", "2Gi", ["2048Mi"], ["2G", "2Mi", "20Gi"]),
    ("html", "<p>We ship on Monday.</p>", ["<p>We ship on monday.</p>\n", "<div>We will ship on Monday.</div>"], []),
    ("body", "## Plan\n\n- ship it on Monday", ["**Plan**\n* ship it on Monday"], [""]),
    (
        "script",
        "for i in range(3):\n    pay(i)",
        ["for i in range(3):\n  pay(i)  # all\n"],
        ["for i in range(4):\n    pay(i)", "for i in range(3):\n    refund(i)"],
    ),
    ("code", "const a = 1;\nsend(a);", ["const a = 1;  send(a);"], ["const a = 2;\nsend(a);"]),
    ("xpath", "//a[@id='b']", [], ["//a[@id='c']", "/a[@id='b']"]),
    ("key", "Enter", ["enter"], ["Escape", "ctrl+Enter"]),
    ("coordinate", [120, 340], [[120.0, 340]], [[340, 120], [120, 341]]),
    ("currency", "EUR", ["eur"], ["USD", "E"]),
    ("locale", "de-DE", [], ["de-AT", "en-DE"]),
    ("language", "de", ["DE"], ["en"]),
    (
        "rrule",
        "FREQ=WEEKLY;BYDAY=MO",
        ["RRULE:FREQ=WEEKLY;BYDAY=MO", "BYDAY=MO;FREQ=WEEKLY"],
        ["FREQ=WEEKLY;BYDAY=TU", "FREQ=DAILY"],
    ),
]
CASES = [
    (f"{key} {kind}: {other!r}", {key: recorded}, {key: other}, kind)
    for key, recorded, same, different in KINDS
    for kind, others in (("same", same), ("different", different))
    for other in others
]


@pytest.mark.parametrize(("left", "right", "kind"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_write_with_an_equal_value_may_pass_and_one_with_another_value_fails(
    left: Any, right: Any, kind: str
) -> None:
    assert compared(left, left) == "equal"
    assert (compared(left, right) == "failed") == (kind == "different")
