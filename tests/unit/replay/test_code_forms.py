"""Code that is written differently and does the same is recognized; code that does something else never is."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.code_forms import code_note
from app.replay.request_forms import request_form
from app.replay.schedules import schedule_form
from app.replay.statement_forms import statement_form

SAME = [
    ("find /d -type f -mtime +30 -delete", "find /d -mtime +30 -type f -delete"),
    ("find /d -type f -mtime +30 -delete", "find /d -mtime +30 -and -type f -print0 | xargs -0 -r rm -f"),
    ("find /d -type f ! -name a -delete", "find /d/ -not -name a -type f -exec rm -f {} +"),
    ("find /d -type f -delete; ls /d", "find /d -type f -exec rm {} \\; ; ls -l /d"),
    ("find /d -name core -exec gzip {} +", "find /d -name core -exec gzip {} \\;"),
    ("sudo systemctl restart web", "sudo systemctl restart web.service"),
    ("systemctl stop a; systemctl start b", "service a stop; /usr/bin/systemctl start b"),
    (
        "kubectl -n shop set resources deployment/web --containers=app --limits=memory=2Gi,cpu=500m",
        "kubectl set resources deploy web -c app --limits memory=2048Mi,cpu=0.5 -n shop",
    ),
    ("kubectl delete pod a b --timeout=60s", "kubectl delete po/a pods/b --timeout 1m"),
    ("rm -rf build", "rm --recursive -f ./build/"),
    ("update t set a = 1 where b = 2", "-- as asked\n/* now */ UPDATE t SET a = 1 WHERE b = 2"),
    ("insert into t (a) values ('2026-12-01')", "insert into t (a) values (date('2026-12-01'))"),
    ("ssh db1 'rm -rf /tmp/x'", "ssh db1 rm -f -r /tmp/x"),
    ("kill -9 5", "kill -SIGKILL 5"),
    ("docker container rm -f web", "docker rm --force web"),
    ("git push -u origin main", "git push origin main --set-upstream"),
    ("rm -- a", "rm a"),
    ("UPDATE t SET a = 'B' WHERE c = 1 AND d = 'x'", "update t set a='B' where d='x' and 1=c;"),
    ("update orders set paid = 1 where id = 7", "UPDATE orders SET paid=1 WHERE id = '7'"),
    ("delete from t where a between 1 and 5 and b in (2, 1)", "DELETE FROM t WHERE (b IN (1,2) AND a <= 5) AND a >= 1"),
    ("insert into t (a, b) values (1, f(2, 3))", "INSERT INTO t(b, a) VALUES (f(2,3), 1) -- done"),
    ("update t set a = 1, b = 'X' where id = 3", "UPDATE t SET b = 'X', a = 1 WHERE id IN (3)"),
    ("update t set a = now() where b <> 2", "update `t` set `a`=current_timestamp() where b != 2"),
    ("select a as b from t inner join u on t.id = u.id", "SELECT a b FROM t JOIN u ON t.id = u.id"),
]
DIFFERENT = [
    ("find /d -delete -type f", "find /d -type f -delete"),
    ("find /d -type f -mtime +30 -delete", "find /d -type f -mtime +3 -delete"),
    ("find /d -mtime +30 -delete", "find /d -mtime +30 -print0 | xargs -0 rm -f"),
    ("find /d -type f -print0 | xargs -0 rm", "find /d -type f | xargs rm"),
    ("find /d ! -name a -type f -delete", "find /d -name a ! -type f -delete"),
    ("find /d -type f -o -name a -delete", "find /d -name a -o -type f -delete"),
    ("find /d -type f -exec rm {}", "find /d -type f -delete"),
    ("find /d -type f -exec mv {} /e +", "find /d -type f -exec mv /e {} +"),
    ("rm -rf a b", "rm -rf a"),
    ("rm -r a", "rm -rf a"),
    ("rm -- -f", "rm -f"),
    ("test -f a && rm a", "rm a"),
    ("ls a || rm a", "rm a"),
    ("echo yes | rm -i a", "rm -i a"),
    ("hostname b && rm a", "rm a"),
    ("date -s 0 ; rm a", "rm a"),
    ("cd b && rm a", "rm a"),
    ("ls; rm a && rm b", "ls; rm b && rm a"),
    ("(rm a)", "(rm a) &"),
    ("kubectl delete pod a", "kubectl delete svc a"),
    ("kubectl -n a delete pod x", "kubectl -n b delete pod x"),
    ("kubectl delete pod x --now", "kubectl delete pod x"),
    ("kubectl scale deploy a --replicas=2", "kubectl scale deploy a --replicas=20"),
    ("kubectl set resources deploy/a --limits=memory=2Gi", "kubectl set resources deploy/a --limits=memory=2G"),
    ("mv a b", "mv b a"),
    ("cp -r a/ b", "cp -r a b"),
    ("systemctl restart a.timer", "systemctl restart a"),
    ("sed -i s/a//g f", "sed -i s/a/g f"),
    ("git commit -m a", "git commit -m A"),
    ("ssh db1 rm a", "ssh db2 rm a"),
    ("sudo rm a", "rm a"),
    ("update t set a = b, b = a where id = 1", "update t set b = a, a = b where id = 1"),
    ("update t set a = 1 where b = 2", "update t set a = 1"),
    ("update t set a = 'x' where b = 'y'", "update t set a = 'X' where b = 'y'"),
    ("delete from t where a = 1 and b = 2 or c = 3", "delete from t where b = 2 or a = 1 and c = 3"),
    ("delete from t where a = 1 and (b = 2 or c = 3)", "delete from t where b = 2 and (a = 1 or c = 3)"),
    ("delete from t where not (a = 1 and b = 2)", "delete from t where not a = 1 and b = 2"),
    ("delete from t where a < 5", "delete from t where 5 < a"),
    ("delete from t where a between 1 and 5", "delete from t where a between 5 and 1"),
    ("delete from t where a in (1, 2)", "delete from t where a in (1, 3)"),
    ("delete from t where a = '07'", "delete from t where a = 7"),
    (
        "delete from t where case when a and x and b then 1 end = 1 and c",
        "delete from t where case when a and b then 1 end = 1 and x and c",
    ),
    ("insert into t (a, b) values (1, 2)", "insert into t (b, a) values (1, 2)"),
    ("update t set a = 1 where id = 1; drop table t", "update t set a = 1 where id = 1"),
    ("update t set a = 1 /*! where id = 1 */", "update t set a = 1"),
    ("update t set a = 1 where b = 2", "-- as asked\nupdate t set a = 1 -- where b = 2"),
    ("update t set a = 1 where b = 2", "/*! delete from t; */ update t set a = 1 where b = 2"),
    ("insert into t (a) values ('2026-12-01')", "insert into t (a) values (date('2026-12-10'))"),
    ("update t set a = '2026-12-01 10:30'", "update t set a = cast('2026-12-01 10:30' as date)"),
    ("update t set a = '2026-12-01 10:30'", "update t set a = date('2026-12-01 10:30')"),
    ("update t set a = '2026-12-01 10:30'", "update t set a = '2026-12-01 10:30'::date"),
    ("(3*4)^x", "3*4^x"),
    ("update t set a = $$B$$ where c = 1", "update t set a = $$b$$ where c = 1"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_code_that_does_the_same_is_recognized(left: str, right: str) -> None:
    assert code_note(left, right)
    assert code_note(right, left)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_code_that_does_something_else_is_not_the_same(left: str, right: str) -> None:
    assert code_note(left, right) == ""
    assert code_note(right, left) == ""


OPTIONS = {"-r": ["-r", "-R", "--recursive"], "-f": ["-f", "--force"], "-v": ["-v", "--verbose"]}
removals = st.tuples(
    st.sets(st.sampled_from(sorted(OPTIONS))), st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
)


def written(removal: tuple[set[str], list[str]], drawn: random.Random) -> str:
    """Return a command of `rm` with options between its names, in any order and spelling."""
    options = [drawn.choice(OPTIONS[option]) for option in removal[0]]
    words = [*removal[1]]
    for option in options:
        words.insert(drawn.randint(0, len(words)), option)
    return " ".join(["rm", *words])


@given(removals, removals, st.integers(0, 999))
def test_commands_are_the_same_if_their_options_and_names_are(
    one: tuple[set[str], list[str]], other: tuple[set[str], list[str]], seed: int
) -> None:
    drawn = random.Random(seed)
    assert code_note(written(one, drawn), written(one, drawn))
    assert bool(code_note(written(one, drawn), written(other, drawn))) == (one == other)


conditions = st.sets(
    st.tuples(st.sampled_from(["id", "status", "day"]), st.sampled_from(["=", "<>", "<", ">="]), st.integers(1, 3)),
    min_size=1,
    max_size=4,
)
TURNED = {"=": "=", "<>": "<>", "<": ">", ">=": "<="}


def stated(parts: set[tuple[str, str, int]], drawn: random.Random) -> str:
    """Return a deletion with these conditions in any order, of which some are turned around."""
    listed = [*parts]
    drawn.shuffle(listed)
    texts = [
        f"{value} {TURNED[sign]} {name}" if drawn.random() < 0.5 else f"{name}{sign}{value}"
        for name, sign, value in listed
    ]
    return f"DELETE FROM t WHERE {' AND '.join(texts)}"


@given(conditions, conditions, st.integers(0, 999))
def test_statements_are_the_same_if_their_conditions_are(
    one: set[tuple[str, str, int]], other: set[tuple[str, str, int]], seed: int
) -> None:
    drawn = random.Random(seed)
    assert statement_form(stated(one, drawn)) == statement_form(stated(one, drawn))
    assert (statement_form(stated(one, drawn)) == statement_form(stated(other, drawn))) == (one == other)


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        ("0 8 * * 1", "0 8 * * MON", True),
        ("0 8 * * 0", "0 8 * * 7", True),
        ("0 0 * * *", "@daily", True),
        ("*/15 * * * *", "0,15,30,45 * * * *", True),
        ("0 8 * jan mon-fri", "0 8 * 1 1,2,3,4,5", True),
        ("FREQ=WEEKLY;BYDAY=MO,TU", "RRULE:BYDAY=TU,MO;FREQ=WEEKLY", True),
        ("0 8 * * 1", "0 8 * * 2", False),
        ("0 8 1 * 1", "0 8 * * 1", False),
        ("0 8 1-31 * 1", "0 8 * * 1", False),
        ("0 8 * * 1-5", "0 8 * * 1-6", False),
        ("FREQ=WEEKLY;BYDAY=MO", "FREQ=DAILY;BYDAY=MO", False),
    ],
)
def test_schedules_are_the_same_if_their_times_are(left: str, right: str, is_same: bool) -> None:
    assert None not in (schedule_form(left), schedule_form(right))
    assert (schedule_form(left) == schedule_form(right)) == is_same


@pytest.mark.parametrize("text", ["", "0 8 * *", "a b c d e", "0 25 * * *", "5-1 * * * *", "99 * * * *", "BYDAY=MO"])
def test_a_text_that_is_no_schedule_has_no_times(text: str) -> None:
    assert schedule_form(text) is None


def test_a_program_with_many_combining_marks_in_a_row_is_not_read() -> None:
    few, many = (f"a{chr(0x344) * times} = 1" for times in (3, 40))

    assert code_note(few, f"{few}  # as asked") == "the same program, written differently"
    assert not code_note(many, f"{many}  # as asked")


def test_nothing_is_written_about_a_program_that_is_read() -> None:
    read = "from app.replay.code_forms import code_note; print(code_note('a = 1if b else 2', 'a = 1if b else 2  # c'))"
    run = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=True)

    assert (run.stdout, run.stderr) == ("the same program, written differently\n", "")


def test_two_addresses_that_cannot_be_read_are_not_the_same() -> None:
    first, other = "http://[shop/orders/1", "http://[shop/orders/2"

    assert not code_note(first, other)
    assert request_form({"method": "POST", "url": first}) is None
    assert code_note("http://shop/orders/%31", "http://shop/orders/1") == "the same address, written differently"
