"""Calls that are written differently and do the same, which a judge reads, and twins that do something else."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.arguments import CallRules, compare_arguments
from app.replay.call_effects import call_reads
from app.replay.code_forms import code_note
from app.replay.matcher_places import ranked
from app.replay.texts.sources import Sources


def compared(left: Any, right: Any, effect: Any = "write") -> str:
    """Return `equal`, `open` or `failed`."""
    comparison = compare_arguments(left, right, ranked({}), Sources, rules=CallRules(effect))
    return "failed" if comparison.differences else "open" if comparison.open else "equal"


def unlike(left: str, right: str) -> bool:
    return code_note(left, right) == ""


# Programs of which no table knows the options: short and long ones, in any order.
PROGRAMS = [
    ("useradd", [("-m", "--create-home", ""), ("-G", "--groups", "dbread"), ("-c", "--comment", "'Ewa Lis'")], "elis"),
    ("usermod", [("-a", "--append", ""), ("-G", "--groups", "docker"), ("-s", "--shell", "/bin/zsh")], "tom"),
    ("lvcreate", [("-L", "--size", "20G"), ("-n", "--name", "logs"), ("-y", "--yes", "")], "vg0"),
    (
        "certbot",
        [("-n", "--non-interactive", ""), ("-d", "--domains", "a.example"), ("-m", "--email", "x@a.example")],
        "renew",
    ),
    ("pg_dump", [("-F", "--format", "c"), ("-j", "--jobs", "4"), ("-f", "--file", "/b/shop.dump")], "shop"),
    ("mosquitto_pub", [("-h", "--host", "mq1"), ("-t", "--topic", "pump/3"), ("-m", "--message", "off")], ""),
    ("gpg2", [("-a", "--armor", ""), ("-r", "--recipient", "ops"), ("-o", "--output", "a.asc")], "a.txt"),
]
WRITTEN = [
    (program, options, order, last)
    for program, options, last in PROGRAMS
    for order in [*permutations(range(len(options)))][1:]
]


def command(
    program: str, options: list[tuple[str, str, str]], last: str, spelling: int = 0, joined: bool = False
) -> str:
    words = [option[spelling] + ("=" if joined else " ") * bool(option[2]) + option[2] for option in options]
    return " ".join([program, *words, last]).strip()


@pytest.mark.parametrize(("program", "options", "order", "last"), WRITTEN)
def test_options_of_any_program_in_another_order_or_spelling_are_left_to_a_judge(
    program: str, options: list[tuple[str, str, str]], order: tuple[int, ...], last: str
) -> None:
    recorded, turned = command(program, options, last), [options[at] for at in order]

    assert code_note(recorded, command(program, turned, last))
    assert code_note(recorded, command(program, turned, last, 1))
    assert code_note(recorded, command(program, turned, last, 1, joined=True))
    assert code_note(command(program, options, last, 1), command(program, turned, last, 1, joined=True))


@pytest.mark.parametrize(("program", "options", "order", "last"), WRITTEN)
@pytest.mark.parametrize("spelling", [0, 1])
def test_a_command_with_another_value_option_or_word_fails(
    program: str, options: list[tuple[str, str, str]], order: tuple[int, ...], last: str, spelling: int
) -> None:
    recorded, turned = command(program, options, last), [options[at] for at in order]
    exchanged = [
        (short, long, value) for (short, long, _), (_, _, value) in zip(turned, turned[1:] + turned[:1], strict=True)
    ]

    assert unlike(recorded, command(program, turned, "other", spelling))
    assert unlike(recorded, command(program, turned[1:], last, spelling))
    assert unlike(recorded, command(program, exchanged, last, spelling))
    assert unlike(recorded, command(program, [*turned, ("-Z", "--zap", "")], last, spelling))
    assert unlike(recorded, command(program, [*turned, ("-Z", "--zap", "1")], last, spelling))
    assert unlike(recorded, command(f"{program}x", turned, last, spelling))
    for at, (short, long, value) in enumerate(turned):
        if value:
            other = [*turned[:at], (short, long, "other"), *turned[at + 1 :]]
            assert unlike(recorded, command(program, other, last, spelling))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("echo a >> /etc/hosts", "echo a >>/etc/hosts"),
        ("echo 'a b' > /tmp/x", 'echo "a b" >/tmp/x'),
        ("a && b", "a&&b"),
        ("mount -o ro /dev/sdb1 /mnt  ", "mount -o 'ro' /dev/sdb1 /mnt"),
        ("service-ctl -rf x", "service-ctl -r -f x"),
        ("echo 'reboot' | at 23:30", "echo 'reboot' | at 11:30 PM"),
        ("echo 'reboot' | at 06:05", 'echo "reboot" | at 6:05am'),
        ("echo 'reboot' | at 00:10", "echo 'reboot' | at 12:10 AM"),
    ],
)
def test_white_space_quotes_and_times_of_a_command_are_left_to_a_judge(left: str, right: str) -> None:
    assert code_note(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("echo a >> /etc/hosts", "echo a > /etc/hosts"),
        ("echo a >> /etc/hosts", "echo a >>/etc/host"),
        ("a && b", "a & b"),
        ("a && b", "b && a"),
        ("a | b", "a || b"),
        ("service-ctl -rf x", "service-ctl -r x"),
        ("echo 'reboot' | at 23:30", "echo 'reboot' | at 11:30 AM"),
        ("echo 'reboot' | at 00:10", "echo 'reboot' | at 12:10 PM"),
        ("swap-in a b", "swap-in b a"),
        ("swap-in", "swap-in a"),
        ("swap-in -a", "swap-in"),
        ("tool -x a b", "tool -x b a"),
        ("tool -x a -y b", "tool -y a -x b"),
        ("tool --from a --to b", "tool --from b --to a"),
        ("tool -e a -e b", "tool -e b -e a"),
    ],
)
def test_another_operator_time_or_order_of_words_fails(left: str, right: str) -> None:
    assert unlike(left, right)


# Statements.
COLUMNS = {"line_id": "7", "reason": "'Works, rue (Haute)'", "begins": "'2026-12-07'", "ends": "'2026-12-11'"}
ROWS = ["(518, 204)", "(518, 231)", "(518, 77)", "(519, 'a, b')"]
TAILS = ["", " RETURNING id", " returning id, reason", " ON CONFLICT DO NOTHING", " on duplicate key update n = n + 1"]


def insertion(columns: dict[str, str], tail: str) -> str:
    return f"INSERT INTO works ({', '.join(columns)}) VALUES ({', '.join(columns.values())}){tail}"


@pytest.mark.parametrize(("order", "tail"), [*product([*permutations(COLUMNS)][1:9], TAILS)])
def test_columns_of_an_insertion_in_another_order_are_left_to_a_judge(order: tuple[str, ...], tail: str) -> None:
    turned = {name: COLUMNS[name] for name in order}
    values = [*turned.values()]
    exchanged = dict(zip(turned, [*values[1:], values[0]], strict=True))

    assert code_note(insertion(COLUMNS, tail), insertion(turned, tail))
    assert unlike(insertion(COLUMNS, tail), insertion(exchanged, tail))
    assert unlike(insertion(COLUMNS, tail), insertion({**turned, "ends": "'2026-12-12'"}, tail))
    assert unlike(insertion(COLUMNS, tail), insertion({**turned, "published": "true"}, tail))
    assert unlike(insertion(COLUMNS, tail), insertion(turned, f"{tail} where 1 = 1"))
    assert unlike(insertion(COLUMNS, tail), insertion(turned, tail).replace("works", "work"))


@pytest.mark.parametrize(("order", "tail"), [*product([*permutations(ROWS)][1:9], TAILS)])
def test_rows_of_an_insertion_in_another_order_are_left_to_a_judge(order: tuple[str, ...], tail: str) -> None:
    begin = "insert into stops (work_id, stop_id) values "
    recorded = f"{begin}{', '.join(ROWS)}{tail}"

    assert code_note(recorded, f"{begin}{', '.join(order)}{tail}")
    assert code_note(recorded, f"insert into stops (stop_id, work_id) values {', '.join(map(turned_row, order))}{tail}")
    assert unlike(recorded, f"{begin}{', '.join(order[1:])}{tail}")
    assert unlike(recorded, f"{begin}{', '.join(map(turned_row, order))}{tail}")
    assert unlike(recorded, f"{begin}{', '.join([*order, '(520, 1)'])}{tail}")
    assert unlike(recorded, f"{begin}{', '.join(['(518, 205)', *order[1:]])}{tail}")


def turned_row(row: str) -> str:
    first, second = row[1:-1].split(", ", 1)
    return f"({second}, {first})"


@given(st.permutations(["'E031'", "'N098'", "'N114'", "'S207'"]))
def test_a_list_of_rows_in_another_order_is_left_to_a_judge(codes: list[str]) -> None:
    def written(listed: list[str]) -> str:
        return f"CREATE TABLE watch AS SELECT code FROM (VALUES {', '.join(f'({code})' for code in listed)}) AS v(code)"

    recorded = written(["'E031'", "'N098'", "'N114'", "'S207'"])
    assert code_note(recorded, written(codes))
    assert unlike(recorded, written([*codes[1:], "'X'"]))
    assert unlike(recorded, written(codes[1:]))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('update "orders" set "state" = 1 where id = 7', "update orders set state = 1 where id = 7"),
        ("update orders set state = 1 where id = 7", "update [orders] set [state] = 1 where [id] = 7"),
    ],
)
def test_quoted_names_are_left_to_a_judge(left: str, right: str) -> None:
    assert code_note(left, right)
    assert unlike(left, right.replace("7", "8"))
    assert unlike(left, right.replace("state", "rank"))


# GraphQL.
IDS, REASONS = ["ORD-905114", "ORD-1", 'a \\"b'], ["CUSTOMER", "FRAUD"]
CANCELLED = (
    "mutation Cancel($id: ID!, $restock: Boolean!, $reason: Reason!) "
    "{ orderCancel(id: $id, restock: $restock, reason: $reason) { order { id at } errors { code } } }"
)


def inline(identifier: str, restock: bool, reason: str, selection: str = "order { id at } errors { code }") -> str:
    values = f'id: "{identifier}", restock: {json.dumps(restock)}, reason: {reason}'
    return f"mutation {{ orderCancel({values}) {{ {selection} }} }}"


@pytest.mark.parametrize(("identifier", "restock", "reason"), [*product(IDS, [True, False], REASONS)])
@pytest.mark.parametrize("key", ["query", "mutation", "mutacao", "document"])
def test_a_mutation_that_is_written_differently_is_left_to_a_judge(
    key: str, identifier: str, restock: bool, reason: str
) -> None:
    variables = {"id": json.loads(f'"{identifier}"'), "restock": restock, "reason": reason}
    recorded = {key: CANCELLED, "variables": variables}
    renamed = CANCELLED.replace("$id", "$order").replace("$reason", "$why").replace("Cancel(", "Other(", 1)

    same = [
        {key: inline(identifier, restock, reason)},
        {key: inline(identifier, restock, reason, "order { id at state } errors { code message }")},
        {key: inline(identifier, restock, reason, "# all\n errors { code }, order { id }")},
        {key: inline(identifier, restock, reason).replace("orderCancel", "gone: orderCancel")},
        {key: renamed, "variables": {"order": variables["id"], "restock": restock, "why": reason}},
        {key: CANCELLED.replace("Cancel(", "C(", 1), "variables": variables, "operationName": "C"},
        {
            key: CANCELLED.replace("restock: $restock, reason: $reason", "reason: $reason, restock: $restock"),
            "variables": variables,
        },
        {key: CANCELLED, "variables": json.dumps(variables)},
    ]
    other = [
        {key: inline("ORD-2", restock, reason)},
        {key: inline(identifier, not restock, reason)},
        {key: inline(identifier, restock, "OTHER")},
        {key: inline(identifier, restock, reason).replace("orderCancel", "orderDelete")},
        {key: inline(identifier, restock, reason).replace("} } }", "} } again: orderCancel(id: 1) { id } }")},
        {key: inline(identifier, restock, reason).replace("restock", "notify")},
        {key: inline(identifier, restock, reason).replace(", reason", ", dry: true, reason")},
        {key: inline(identifier, restock, reason).replace(", reason", ", note: null, reason")},
        {key: renamed, "variables": {"order": reason, "restock": restock, "why": variables["id"]}},
        {key: CANCELLED, "variables": {**variables, "restock": not restock}},
        {key: inline(identifier, restock, reason).replace("mutation", "query")},
        {key: CANCELLED, "variables": variables, "tenant": 2},
    ]
    assert [call for call in same if compared(recorded, call) != "open"] == []
    assert [call for call in other if compared(recorded, call) != "failed"] == []


@pytest.mark.parametrize("name", ["f", "filter", "filtro", "where", "criteria"])
@pytest.mark.parametrize("value", [{"state": "PAID"}, ["a", "b"], 7, "x y"])
def test_a_query_with_renamed_variables_is_left_to_a_judge(name: str, value: Any) -> None:
    recorded = {"query": "query A($v: F!) { orders(filter: $v, first: 9) { id } }", "variables": {"v": value}}
    renamed = f"query B(${name}: F!) {{ orders(filter: ${name}, first: 9) {{ id }} }}"

    assert compared(recorded, {"query": renamed, "variables": {name: value}}, "read") == "open"
    assert compared(recorded, {"query": renamed, "variables": {name: "other"}}, "read") == "failed"


# Requests.
PARAMETERS = [{"id": "7"}, {"id": "7", "dry": "false"}, {"q": "a b&c", "lang": "de"}, {"since": "2026-11-01T00:00"}]
METHODS, BODIES = ["POST", "PUT", "DELETE"], [None, {"state": "paid", "lines": [1, 2]}]


@pytest.mark.parametrize(("method", "parameters", "body"), [*product(METHODS, PARAMETERS, BODIES)])
def test_a_request_that_is_written_differently_is_left_to_a_judge(
    method: str, parameters: dict[str, str], body: Any
) -> None:
    rest = {} if body is None else {"body": body}
    recorded = {"method": method, "url": "https://api.example/v2/orders", "params": parameters, **rest}
    address = f"https://api.example/v2/orders?{urlencode([*reversed(parameters.items())])}"

    same = [
        {"method": method, "url": address, **rest},
        {"method": method.lower(), "url": address, **rest},
        {"method": method, "url": address.replace("api.example", "API.example:443"), **rest},
        {"method": method, "url": address.replace("orders?", "orders/?"), "params": {}, **rest},
        {"method": method, "url": address, **({} if body is None else {"body": json.dumps(body)})},
    ]
    other = [
        {"method": "PATCH", "url": address, **rest},
        {"method": method, "url": f"{address}&force=1", **rest},
        {"method": method, "url": address.partition("?")[0], **rest},
        {"method": method, "url": address.replace("orders", "order"), **rest},
        {"method": method, "url": address.replace("https", "http"), **rest},
        {"method": method, "url": address.replace("api.", "test."), **rest},
        {"method": method, "url": address, "body": {"state": "open"}},
        {"method": method, "url": address, "as_user": "root", **rest},
        {"method": method, "url": address, "headers": {"X-HTTP-Method-Override": "GET"}, **rest},
    ]
    assert [call for call in same if compared(recorded, call) != "open"] == []
    assert [call for call in other if compared(recorded, call) != "failed"] == []


@pytest.mark.parametrize(("name", "value"), [("Accept", "application/json"), ("X-Tenant", "t1"), ("If-Match", "k")])
@pytest.mark.parametrize("method", METHODS)
def test_headers_in_other_cases_are_left_to_a_judge(method: str, name: str, value: str) -> None:
    recorded = {"method": method, "url": "https://a.example/x", "headers": {name: value}}

    assert compared(recorded, {**recorded, "headers": {name.lower(): value}}) == "open"
    assert compared(recorded, {**recorded, "headers": {name.lower(): "other"}}) == "failed"


# Times.
CLOCKS = [(hour, minute) for hour in (0, 6, 8, 11, 12, 13, 23) for minute in (0, 5, 30, 59)]


@pytest.mark.parametrize(("hour", "minute"), CLOCKS)
def test_a_time_of_day_in_another_form_is_left_to_a_judge(hour: int, minute: int) -> None:
    recorded, half = f"{hour:02}:{minute:02}", "AM" if hour < 12 else "PM"
    by_half = f"{hour % 12 or 12}:{minute:02}"

    same = [f"{recorded}:00", f"{by_half} {half}", f"{by_half}{half.lower()}", f"{recorded}:00.000"]
    other = [f"{recorded}:30", f"{by_half} {'PM' if half == 'AM' else 'AM'}", f"{(hour + 1) % 24:02}:{minute:02}:00"]
    assert [text for text in same if compared({"from": recorded}, {"from": text}) != "open"] == []
    assert [text for text in other if compared({"from": recorded}, {"from": text}) != "failed"] == []


@pytest.mark.parametrize(("hour", "minute"), CLOCKS)
def test_a_local_time_with_an_offset_is_left_to_a_judge(hour: int, minute: int) -> None:
    recorded = f"2026-12-02T{hour:02}:{minute:02}"

    same = [f"{recorded}:00Z", f"{recorded}:00+00:00", f"{recorded}Z", f"{recorded}:00-03:00", f"{recorded}:00"]
    other = [f"2026-12-03T{hour:02}:{minute:02}:00Z", f"{recorded}:01Z"]
    assert [text for text in same if compared({"due": recorded}, {"due": text}) != "open"] == []
    assert [text for text in other if compared({"due": recorded}, {"due": text}) != "failed"] == []


@pytest.mark.parametrize("offset", ["", "Z", "-03:00", "+09:00"])
@pytest.mark.parametrize("end", ["23:59:59", "23:59", "23:59:59.999"])
def test_the_end_of_a_day_and_the_begin_of_the_next_are_left_to_a_judge(end: str, offset: str) -> None:
    recorded = f"2026-12-09T00:00:00{offset}"

    assert compared({"endsAt": recorded}, {"endsAt": f"2026-12-08T{end}{offset}"}) == "open"
    assert compared({"endsAt": f"2026-12-08T{end}{offset}"}, {"endsAt": recorded}) == "open"
    assert compared({"endsAt": recorded}, {"endsAt": f"2026-12-09T{end}{offset}"}) == "failed"
    assert compared({"endsAt": recorded}, {"endsAt": f"2026-12-07T{end}{offset}"}) == "failed"
    assert compared({"endsAt": recorded}, {"endsAt": f"2026-12-08T23:58:59{offset}"}) == "failed"


@pytest.mark.parametrize(
    ("produced", "expected"),
    [
        ({"minutes": 90, "name": "beans"}, "open"),
        ({"seconds": 5400, "name": "beans"}, "open"),
        ({"hours": 1.5, "name": "beans"}, "open"),
        ({"hours": 1, "minutes": 30, "seconds": 0, "name": "beans"}, "open"),
        ({"hours": 30, "minutes": 1, "name": "beans"}, "failed"),
        ({"minutes": 30, "name": "beans"}, "failed"),
        ({"seconds": 90, "name": "beans"}, "failed"),
        ({"minutes": 90, "name": "peas"}, "failed"),
        ({"minutes": -90, "name": "beans"}, "failed"),
        ({"minutes": "90", "name": "beans"}, "failed"),
    ],
)
def test_a_length_of_time_in_other_units_is_left_to_a_judge(produced: dict[str, Any], expected: str) -> None:
    recorded = {"hours": 1, "minutes": 30, "name": "beans"}
    assert compared(recorded, produced) == compared(produced, recorded) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("b=two%20words&a=1", "open"),
        ("a=1&b=two%2Bwords", "failed"),
        ("a=2&b=two+words", "failed"),
        ("a=1", "failed"),
    ],
)
def test_a_form_is_compared_by_its_fields(body: str, expected: str) -> None:
    recorded = {"method": "POST", "url": "https://a.example/n", "body": "a=1&b=two+words"}
    assert compared(recorded, {**recorded, "body": body}) == expected
    plain = {"headers": {"Content-Type": "text/plain"}}
    assert compared({**recorded, **plain}, {**recorded, **plain, "body": body}) == "failed"


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-12-01T09:00:00+02:00", "open"),
        ("2026-12-01T09:00:00+01:00", "failed"),
        ("2026-12-01T09:00:00", "failed"),
        ("2026-12-01T10:00:00+02:00", "failed"),
    ],
)
def test_an_offset_may_imply_the_time_zone(moment: str, expected: str) -> None:
    recorded = {"start": {"dateTime": "2026-12-01T09:00:00", "timeZone": "Africa/Johannesburg"}}
    produced = {"start": {"dateTime": moment}}
    assert compared(recorded, produced) == compared(produced, recorded) == expected


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+01:00"])
def test_a_time_that_is_beyond_the_calendar_in_utc_is_compared_as_a_text(moment: str) -> None:
    later = f"{moment[:-6]}.5{moment[-6:]}"
    assert compared({"until": moment}, {"until": moment.replace("T", " ")}) == "open"
    assert compared({"until": moment}, {"until": later}) == "failed"
    with_zone = {"until": {"dateTime": moment[:-6], "timeZone": "Africa/Johannesburg"}}
    assert compared(with_zone, {"until": {"dateTime": moment}}) == "failed"


# Commands under keys of other languages, and of tools that are named after a shell.
READING = ["df -i /var", "ls -lh /var/log | head -5", "du -xhd 2 /var | sort -hr", "grep -n max /etc/nginx.conf"]
WRITING = ["rm -rf /var/log", "df -i > /tmp/x", "ls; reboot", "unheard-of --list"]
KEYS = ["polecenie", "befehl", "comando", "commande", "opdracht", "kommando", "コマンド", "命令", "команда", "komut"]


@pytest.mark.parametrize(("key", "name"), [*product(KEYS, ["shell", "run", "wykonaj"])])
def test_a_command_is_known_under_the_key_of_another_language(key: str, name: str) -> None:
    assert [
        text for text in READING if call_reads(name, {"host": "web-03", key: text}, runs_only=False) is not True
    ] == []
    assert [
        text for text in WRITING if call_reads(name, {"host": "web-03", key: text}, runs_only=False) is not False
    ] == []


@pytest.mark.parametrize("name", ["shell", "bash", "run_shell", "mcp__ops__terminal", "execBash", "zsh.run"])
@pytest.mark.parametrize("key", ["line", "what", "zeile", "input_line"])
def test_the_one_text_of_a_tool_that_is_named_after_a_shell_is_a_command(name: str, key: str) -> None:
    assert [text for text in READING if call_reads(name, {key: text, "timeout": 5}, runs_only=False) is not True] == []
    assert [text for text in WRITING if call_reads(name, {key: text}, runs_only=False) is not False] == []
    assert call_reads(name, {key: READING[0], "other": "rm"}, runs_only=False) is not True
    assert call_reads(name, {key: READING[0], "stdin": "x"}, runs_only=False) is not True
    assert call_reads("notes", {key: READING[0]}, runs_only=False) is None
