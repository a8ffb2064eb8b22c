"""Statements, commands and values of a write that a judge may find equal, and twins that are certainly different."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.arguments import CallRules, compare_arguments
from app.replay.code_forms import code_note
from app.replay.matcher_places import ranked
from app.replay.texts.sources import Sources

SAME = [
    # Statements.
    ("update t set d = '2026-11-30' where id = 1", "UPDATE t SET d = DATE '2026-11-30' WHERE id = 1;"),
    ("update t set d = '2026-11-30' where id = 1", "update t set d = cast('2026-11-30' as date) where id = 1"),
    ("update t set d = '2026-11-30' where id = 1", "update t set d = '2026-11-30'::date where id = 1"),
    ("update t set d = '2026-11-30 10:00' where id = 1", "update t set d = timestamp '2026-11-30 10:00' where id = 1"),
    ("delete from t where d < '2026-11-30'", "delete from t where d < date'2026-11-30'"),
    ("insert into t (a, b) values (1, 2)", "insert into t (a, b, c) values (1, 2, NULL)"),
    ("insert into t (a, d) values (1, '2026-11-30')", "insert into t (a, c, d) values (1, null, DATE '2026-11-30')"),
    ("update t set a = 1 where id = 7", "update t set a = 1 where id = 7 and site = 3"),
    ("update t set a = 1 where id = 7", "update t set a = 1 where site = 3 and (id = 7)"),
    ("delete from t where id = 7", "DELETE FROM t WHERE id = 7 AND state = 'draft';"),
    ("update t set a = 1 where b = 2 and id = 7", "update t set a = 1 where c = 5 and id = 7 and b = 2"),
    ("ALTER ROLE r SET idle_timeout = '5min'", "alter role r set idle_timeout to '5min';"),
    ("create unique index i on t (a, b)", "CREATE UNIQUE INDEX i ON t(a,b)"),
    ("COMMENT ON COLUMN t.a IS 'in kg'", "comment on column t.a is 'in kg'"),
    ("create or replace temporary view v as select a from t", "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT a FROM t"),
    ("insert into t (a, b) values (1, f(2, 3))", "insert into t set b = f(2, 3), a = 1"),
    ("update t set a = 1 where id = 7", "update t set a = 1 where id = 7 limit 1"),
    ("delete from t where id = 7", "delete from t where id = 7 and b = 2 limit 5"),
    # Commands.
    ("adm update Node=g7 State=DRAIN Weight=5", "adm update state=drain weight=5 node=g7"),
    ("adm update Job=8 TimeLimit=+06:00:00", "adm update Job=8 TimeLimit=+360"),
    ("adm set Node=g7 Reason='fan is broken'", "adm set Node=g7 Reason='the fan broke'"),
    ("desk close 7 --comment 'sent a new one'", "desk close 7 --comment 'a new one was sent'"),
    ("git commit -m 'Mend the login form'", "git commit -m 'Fix the form of the login'"),
    ("/opt/x/budget --month 2026-11 --json", "/opt/x/budget --month 2026-11"),
    ("find /tmp/a -type f -mtime +9 -delete", "find /tmp/a -type f -mtime +9 -print0 | xargs -0 rm -f --"),
    (
        "sbatch --partition=long --cpus-per-task=16 --mem=64G --time=12:00:00 --job-name=a /p/a.sh S2",
        "sbatch -p long -c 16 --mem=64G -t 12:00:00 -J a /p/a.sh S2",
    ),
    ("sbatch --time=12:00:00 --mem=64G a.sh", "sbatch --mem=64G --time=720 a.sh"),
    ("sbatch -t 1-12 a.sh", "sbatch --time=36:00:00 a.sh"),
    ("sbatch -t 90 a.sh", "sbatch -t 1:30:00 a.sh"),
    ("scancel -u ada -t PENDING", "scancel --state=PENDING --user=ada"),
    ("deploy --env=prod --tag=v2 web", "deploy --tag=v2 --env=prod web"),
    ("tool run --a=1 --b=2 x --c=3", "tool run --b=2 --a=1 x --c=3"),
    ("sed -i 's/^a$/b/' f", "sed -i 's|^a$|b|' f"),
    ("sed -i s#/a/b#/c/d#g f", "sed -i 's/\\/a\\/b/\\/c\\/d/g' f"),
    ("sed -i -e 's,a,b,' f", "sed -i 's/a/b/' f"),
    ("sed -i -E 's/a(b)/\\1/' f", "sed -i -r 's@a(b)@\\1@' f"),
    # Programs.
    ("print('a')  # done\n", 'print("a")'),
    ("x = {'a': 1}\nsend(x, to = 'b')", 'x = {"a":1}\n\nsend(x, to="b")'),
    ("if (a):\n    go(1)\n", "if a:\n  go(1)"),
]
DIFFERENT = [
    ("ALTER ROLE r SET idle_timeout = '5min'", "ALTER ROLE r SET idle_timeout TO '50min'"),
    ("ALTER ROLE r SET idle_timeout = '5min'", "ALTER ROLE s SET idle_timeout TO '5min'"),
    ("create unique index i on t (a, b)", "create unique index i on t (b, a)"),
    ("create unique index i on t (a)", "create index i on t (a)"),
    ("drop user ben", "drop role ben"),
    ("COMMENT ON COLUMN t.a IS 'in kg'", "comment on column t.a is 'in g'"),
    ("insert into t (a, b) values (1, 2)", "insert into t set b = 1, a = 2"),
    ("insert into t (a, b) values (1, 2)", "insert into t set a = 1, b = 2, c = 3"),
    ("update t set a = 1", "update t set a = 1 limit 5"),
    ("update t set a = 1 where id = 7 limit 1", "update t set a = 1 where id = 7"),
    ("update t set a = 1 where id = 7 limit 1", "update t set a = 1 where id = 7 limit 2"),
    ("adm update Node=g7 State=DRAIN", "adm update Node=g8 State=DRAIN"),
    ("adm update Node=g7 State=DRAIN", "adm update Node=g7 State=RESUME"),
    ("adm update Node=g7 State=DRAIN", "adm update Node=DRAIN State=g7"),
    ("adm update a=1 a=2", "adm update a=2 a=1"),
    ("adm update Job=8 TimeLimit=+06:00:00", "adm update Job=8 TimeLimit=06:00:00"),
    ("adm update Job=8 TimeLimit=+06:00:00", "adm update Job=8 TimeLimit=+06:00"),
    ("dd if=/dev/a of=/dev/b", "dd if=/dev/b of=/dev/a"),
    ("sh -c 'remove the file'", "sh -c 'remove the files'"),
    ("desk close 7 --comment 'sent a new one'", "desk close 8 --comment 'sent a new one'"),
    ("git commit -m 'Mend the login form'", "git commit --amend -m 'Fix the form of the login'"),
    ("find /tmp/a -type f -delete", "find /tmp/a -print0 | xargs -0 rm -f --"),
    ("update t set d = '2026-11-30' where id = 1", "update t set d = date '2026-12-01' where id = 1"),
    ("update t set d = '2026-11-30' where id = 1", "update t set d = cast('2026-11-30' as text) where id = 1"),
    ("insert into t (a, b) values (1, 2)", "insert into t (a, b, c) values (1, 2, 0)"),
    ("insert into t (a, b) values (1, 2)", "insert into t (a, b) values (1, NULL)"),
    ("insert into t (a, b) values (1, null), (2, 3)", "insert into t (a) values (1), (2)"),
    ("update t set a = 1 where id = 7 and site = 3", "update t set a = 1 where id = 7"),
    ("update t set a = 1 where id = 7", "update t set a = 1 where id = 7 or site = 3"),
    ("update t set a = 1 where id = 7", "update t set a = 1 where id = 8 and site = 3"),
    ("update t set a = 1 where id = 7", "update t set a = 2 where id = 7 and site = 3"),
    ("update t set a = 1 where id = 7", "update u set a = 1 where id = 7 and site = 3"),
    ("update t set a = 1", "update t set a = 1 where id = 7"),
    ("delete from t where id = 7", "delete from t where id = 7 and a = 1; drop table t"),
    ("delete from t where id = 7 limit 1", "delete from t where id = 7 and a = 1 limit 9"),
    ("delete from t where not id = 7", "delete from t where id = 7 and a = 1"),
    ("sbatch -t 12:00:00 a.sh", "sbatch -t 12 a.sh"),
    ("sbatch -t 12:00 a.sh", "sbatch -t 12:00:00 a.sh"),
    ("sbatch -c 16 a.sh S2", "sbatch -c 16 a.sh S3"),
    ("sbatch -c 16 a.sh", "sbatch -n 16 a.sh"),
    ("sbatch a.sh -c 16", "sbatch -c 16 a.sh"),
    ("scancel -u ada", "scancel -u bob"),
    ("scancel 7", "scancel 7 8"),
    ("deploy --env=prod --tag=v2 web", "deploy --tag=v2 --env=test web"),
    ("deploy --env=prod --tag=v2 web", "deploy --tag=v2 web --env=prod"),
    ("deploy --env=prod --env=test web", "deploy --env=test --env=prod web"),
    ("deploy --env=prod --tag=v2 web db", "deploy --tag=v2 --env=prod db web"),
    ("rsync --include=a --exclude=b x y", "rsync --exclude=b --include=a x y"),
    ("sed -i 's/a/b/' f", "sed -i 's|a|b|g' f"),
    ("sed -i 's/a/b/' f", "sed -i 's|b|a|' f"),
    ("sed -i 's/a|b/c/' f", "sed -i 's|a|b/c|' f"),
    ("sed -i 's/a\\|b/c/' f", "sed -i 's|a\\|b|c|' f"),
    ("sed -i 's.a.b.' f", "sed -i 's/a./b/' f"),
    ("sed -i 's/a/b/' f", "sed 's|a|b|' f"),
    ("sed -i 's/a/b/' f", "sed -i 's|a|b|' g"),
    ("sed -i '1s/a/b/' f", "sed -i 's|a|b|' f"),
    ("#submit", "#cancel"),
    ("docs/a#x", "docs/a#y"),
    ("form.pay #now", "form.pay #later"),
    ("# pay now", "# pay later"),
    ("# pay now\n# all", "# pay later\n# all"),
    ("DIR='$HOME'", 'DIR="$HOME"'),
    ("rm '*'", "rm *"),
    ("ssh db1 rm '*'", "ssh db1 rm *"),
    ('rm "$X"', "rm '$X'"),
    ('rm "$X"', "rm $X"),
    ("rm ~/a", "rm '~/a'"),
    ("rm {a,b}", "rm '{a,b}'"),
    ("app -f prod", "app --target prod"),
    ("TZ=UTC touch -d 10:00 a", "TZ=CET touch -d 10:00 a"),
    ("tar -cf x -C d1 a -C d2 b", "tar -cf x a -C d1 -C d2 b"),
    ("delete from u where name = '0'", "delete from u where name = 0"),
    ("https://a/b?x=1&x=2", "https://a/b?x=2&x=1"),
    ("https://Ann:b@h/x", "https://ann:B@h/x"),
    ('{"a": 1, "a": 2}', '{"a": 2}'),
    ('{"a": 9007199254740993.0}', '{"a": 9007199254740992}'),
    ("max_temp = 50", "min_temp = 50"),
    ("fan = 1\nmax_temp = 50", "fan = 1\nmin_temp = 50"),
    ("pay('a', 1)", "pay('a', 2)"),
    ("pay(a - b)", "pay(b - a)"),
    ("if a:\n    go(1)\n    go(2)", "if a:\n    go(1)\ngo(2)"),
    ("if a:\n    go('x ')", "if a:\n    go('x')"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_code_that_does_the_same_is_left_to_a_judge(left: str, right: str) -> None:
    assert code_note(left, right)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_code_that_does_something_else_fails(left: str, right: str) -> None:
    assert code_note(left, right) == ""


@given(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=5, unique=True), st.data())
def test_a_statement_with_fewer_conditions_than_recorded_always_fails(columns: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(columns), min_size=1, max_size=len(columns) - 1, unique=True))
    every, fewer = (" and ".join(f"{column} = 1" for column in names) for names in (columns, kept))

    assert code_note(f"delete from t where {every}", f"delete from t where {fewer}") == ""
    assert code_note(f"delete from t where {fewer}", f"delete from t where {every}")


NAMED = ["Node=g7", "State=DRAIN", "Weight=5", "Limit=1-00"]


@given(st.permutations(NAMED), st.permutations([*range(len(NAMED))]))
def test_values_with_names_may_come_in_any_order_and_may_not_be_exchanged(named: list[str], places: list[int]) -> None:
    names, values = zip(*(word.split("=") for word in NAMED), strict=True)
    exchanged = " ".join(f"{name}={values[place]}" for name, place in zip(names, places, strict=True))

    assert code_note(f"adm {' '.join(NAMED)}", f"adm {' '.join(named)}")
    assert bool(code_note(f"adm {' '.join(NAMED)}", f"adm {exchanged}")) == (places == sorted(places))


OPTIONS = ["--a=1", "--b=2", "--c=3", "--dry-run=no"]


@given(st.permutations(OPTIONS), st.sampled_from(["rsync", "ffmpeg", "find", "deploy"]))
def test_options_in_another_order_are_left_to_a_judge_but_for_programs_with_an_order(
    options: list[str], program: str
) -> None:
    before, after = (f"{program} x {' '.join(words)} y" for words in (OPTIONS, options))

    assert bool(code_note(before, after)) == (program == "deploy" or before == after)


def compared(left: Any, right: Any, effect: Any = "write", **schema: Any) -> str:
    """Return `equal`, `open` or `failed`."""
    rules = CallRules(effect, {"properties": schema})
    comparison = compare_arguments(left, right, ranked({}), Sources, rules=rules)
    return "failed" if comparison.differences else "open" if comparison.open else "equal"


LOCAL = {"dateTime": "2027-01-16T20:00:00", "timeZone": "Europe/Amsterdam"}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (LOCAL, {**LOCAL, "dateTime": "2027-01-16T20:00:00+01:00"}, "open"),
        (LOCAL, {**LOCAL, "dateTime": "2027-01-16T19:00:00Z"}, "open"),
        (LOCAL, {**LOCAL, "dateTime": "2027-01-16T20:00+01:00"}, "open"),
        ({**LOCAL, "dateTime": "2027-01-16T20:00:00+01:00"}, LOCAL, "open"),
        (LOCAL, {**LOCAL, "dateTime": "2027-01-16T20:00:00Z"}, "failed"),
        (LOCAL, {**LOCAL, "dateTime": "2027-01-16T20:00:00+02:00"}, "failed"),
        (LOCAL, {**LOCAL, "dateTime": "2027-01-16T21:00:00+01:00"}, "failed"),
        (LOCAL, {**LOCAL, "dateTime": "2027-01-17T20:00:00+01:00"}, "failed"),
        ({**LOCAL, "timeZone": "No/Where"}, {**LOCAL, "dateTime": "2027-01-16T20:00:00+01:00"}, "failed"),
        ({"at": "2027-01-16T20:00:00"}, {"at": "2027-01-16T20:00:00+01:00"}, "open"),
        ({"at": "2027-01-16T20:00:00+01:00"}, {"at": "2027-01-16T20:00"}, "open"),
        ({"at": "2027-01-16T20:00:00"}, {"at": "2027-01-16T20:30:00+01:00"}, "failed"),
        ({"at": "2027-01-16T20:00:00"}, {"at": "2027-01-16T20:00:00Z"}, "open"),
        ({"at": "2027-01-16T20:00:00"}, {"at": "2027-01-16T19:00:00Z"}, "failed"),
        ({"at": "2027-01-16T20:00:00+01:00"}, {"at": "2027-01-16T20:00:00+02:00"}, "failed"),
    ],
)
def test_a_time_with_and_without_its_offset_is_left_to_a_judge(left: Any, right: Any, expected: str) -> None:
    assert compared({"start": left}, {"start": right}) == expected


TITLES = [
    ("Röntgen Pelle (T-0417)", "Röntgentermin Pinguin Pelle, T-0417"),
    ("Board Meeting", "Meeting Of The Board"),
    ("Zahlungserinnerung Rechnung R-77", "Erinnerung: Rechnung R-77"),
    ("Invoice INV-7", "Your Invoice INV-7"),
    ("Rendez-vous Dupont", "RDV Madame Dupont"),
]
TITLE_KEYS = ["title", "subject", "titel", "betreff", "asunto", "objet", "oggetto", "summary", "note", "eventTitle"]


@pytest.mark.parametrize(("left", "right"), TITLES)
@pytest.mark.parametrize("key", TITLE_KEYS)
def test_other_words_of_a_title_are_left_to_a_judge(key: str, left: str, right: str) -> None:
    assert compared({key: left}, {key: right}) == "open"
    assert compared({"name": left}, {"name": right}) == "failed"
    assert compared({key: left}, {key: right}, **{key: {"enum": [left, right]}}) == "failed"


@pytest.mark.parametrize(("left", "right"), [("INV-7", "INV-8"), ("R-77", "R-77 R-78"), ("open", "closed")])
@pytest.mark.parametrize("key", TITLE_KEYS)
def test_a_title_of_one_word_or_an_id_stays_a_value(key: str, left: str, right: str) -> None:
    assert compared({key: left}, {key: right}) == "failed"


FIELDS = ["id", "state", "owner"]


@given(st.permutations([*FIELDS, "due"]))
def test_a_read_of_more_fields_is_left_to_a_judge_and_a_write_of_more_fails(fields: list[str]) -> None:
    assert compared({"fields": FIELDS}, {"fields": fields}, "read") == "open"
    assert compared({"fields": FIELDS}, {"fields": fields}, "write") == "failed"


@pytest.mark.parametrize("fields", [["id", "state", "due"], ["id", "state"], ["id", "state", "due", "owners"]])
def test_a_read_that_lacks_a_recorded_field_fails(fields: list[str]) -> None:
    assert compared({"fields": FIELDS}, {"fields": fields}, "read") == "failed"


def test_a_read_may_name_its_fields_where_the_recorded_one_names_none() -> None:
    schema = {"id": {"type": "string"}, "fields": {"type": "array", "items": {"type": "string"}}}

    assert compared({"id": "a"}, {"id": "a", "fields": FIELDS}, "read", **schema) == "open"
    assert compared({"id": "a"}, {"id": "a", "fields": FIELDS}, "write", **schema) == "failed"
