"""Commands and statements that only read are known by lists of programs and words; all else writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.shell_commands import command_reads
from app.replay.sql_statements import sql_reads


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la /tmp && cat notes.txt | head -5",
        "grep -rn 'def x$' src | sort -u | wc -l",
        "find . -name '*.py' -newer setup.py",
        "git status",
        "git --no-pager log -3 --oneline",
        "git -C /srv/app --no-pager status",
        "kubectl -n shop get pods",
        "kubectl --namespace=shop --context prod logs web-1",
        "git branch -a",
        "sed -n 1,20p app.py",
        "date +%F",
        "cd app && rg TODO",
        "ls; cat a || true",
        "tail -n 40 a 2>&1",
        "grep -r b . 2>/dev/null | head -n 5 2> /dev/null",
        "ls >/dev/null && pwd",
        ["git", "diff"],
        ["bash", "-lc", "cat a | wc -l"],
        ["cat", "a;b"],
        "ssh fb-07 df -h /mnt && ssh -p 22 -l ops fb-07 ls",
        "ssh ops@fb-07 'du -sh /mnt/* | sort -rh; uptime'",
        "docker exec -it web cat /etc/hosts",
        "docker --context prod exec -u root web ls",
        "kubectl -n shop exec web-1 -c app -- tail -n 20 app.log",
        ["kubectl", "exec", "web-1", "--", "sh", "-c", "ls | wc -l"],
        "sudo -n timeout 5 nice -n 10 du -sh /var",
        'grep -rn "it\'s" notes',
        "awk '{print $1,$2}' a",
        "grep -rn total --include=*.{ts,tsx} src",
        "jq '{a,b}' c.json",
        "git diff HEAD@{1} HEAD",
        "cat 'two\nlines'",
        "cat a # it is short",
        "redis-cli get 'a b'",
    ],
)
def test_a_command_of_programs_that_read_reads(command: Any) -> None:
    assert command_reads(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "rm -rf build",
        "ssh fb-07",
        "ssh fb-07 rm -rf build",
        "ssh fb-07 'ls; rm a'",
        "ssh fb-07 'ls $(rm a)'",
        "ssh fb-07 ls '>a'",
        "ssh fb-07 'ls' 'a;rm b'",
        "ssh fb-07 -o ProxyCommand=a ls",
        "ssh -o ProxyCommand=a fb-07 ls",
        "ssh -F a fb-07 ls",
        "docker exec web rm a",
        "docker exec web sh -c 'rm a'",
        "kubectl exec web-1 -- sh",
        "sudo",
        "sudo -e /etc/hosts",
        "sudo rm a",
        "timeout 5 rm a",
        "time -o a ls",
        "ssh a ssh b ssh c ssh d ls",
        "ssh a " * 3_000 + "ls",
        "git -C /srv/app push",
        "git -C status",
        "git -c core.pager=sh log",
        "kubectl -n get delete pods",
        "kubectl -n shop delete pods",
        "kubectl --kubeconfig=a get pods",
        "ls > files.txt",
        "ls 2>/dev/null2",
        "ls > /dev/null/../a",
        "ls >&1file",
        "ls \\>/dev/null; rm a",
        "ls 2>&1 >a",
        "cat a >> b",
        "cat < a",
        "ls; rm a",
        "ls & rm a",
        "ls || rm a",
        "ls\nrm a",
        "cat $(rm a)",
        "cat `rm a`",
        "cat ${X:=y}",
        "$CMD",
        'cat "$(rm a)"',
        'echo "it\'s $(rm a)"',
        "echo \"it's $(rm a), isn't it\"",
        'echo "don\'t `rm a`"',
        "echo \\'`rm a`",
        "echo \\'$(rm a)\\'",
        "ls # it's\nrm a # it's",
        "ls #\\\nrm a",
        "ls $'\\''; rm a; echo $'\\'' \\'",
        'ls $"\'$(rm a)"',
        "find . -{print,delete}",
        "find . {-delete,}",
        "sed -n 1p a {-i,}",
        "sort a {-o,b}",
        "sort --output={a,b} c",
        "sort --{output,key}=b c",
        "cat a{1..3}",
        "redis-cli -a 'a get' flushall",
        "X=1 ls",
        "find . -dele?e",
        "find . -[d]elete",
        "find . -del$@ete",
        "find . -del$*ete",
        'find . "-del$@ete"',
        "find . -ex$!ec rm {} +",
        "test -v 'a[$(rm b)]'",
        "printf -v 'a[$(rm b)]' c",
        "ls | xargs printf -v a",
        "./ls",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint out",
        "sort -o out in",
        "sort -uo out in",
        "sort --output=out in",
        "git commit -m x",
        "git branch new",
        "git diff --output=x",
        "git -c core.pager=rm log",
        "git",
        "sed -i s/a/b/ x",
        "sed -n 'w out' x",
        "date -s 10:00",
        "uniq in out",
        "ls |",
        "| ls",
        "cat 'a",
        "xargs rm",
        "cat a | tee b",
        "(ls)",
        ["rm", "a"],
        ["bash", "-c", "rm a"],
        ["bash", "-c", "ls", "x"],
        [],
        None,
        7,
        {"cmd": "ls"},
        "cat " + "a" * 50_000,
    ],
)
def test_all_other_commands_write(command: Any) -> None:
    assert not command_reads(command)


@given(
    st.text(max_size=40),
    st.sampled_from([">", ">>", ";", "&", "$(", "`", "\n", "||", "| tee "]),
    st.text(max_size=9),
)
def test_nothing_makes_a_command_read_that_writes_behind_an_operator(head: str, operator: str, tail: str) -> None:
    assert not command_reads(f"find . {operator}rm x")
    if command_reads(head) and not set("'\"\\") & set(head):
        assert not command_reads(f"{head}{operator} rm x")
    assert not command_reads(f"rm {tail}")


@pytest.mark.parametrize(
    "statement",
    [
        "select 1",
        "SELECT name, count(*) FROM users WHERE note = 'please delete it' GROUP BY name;",
        "WITH recent AS (SELECT * FROM orders) SELECT avg(total) FROM recent -- drop nothing",
        "SHOW TABLES; DESCRIBE users",
        "EXPLAIN SELECT 1",
        "SELECT 1 /* please delete it */ FROM users",
        "SELECT 1 /* a comment without an end",
        "SELECT 1 FROM users WHERE path = 'a/*' AND other = 'b/*' AND note = '#1' --",
        "TABLE users",
        "VALUES (1, 'a'), (2, 'b')",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT 1",
        "EXPLAIN QUERY PLAN SELECT 1",
        "SELECT replace(name, '-', ''), truncate(total, 2) FROM users",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t",
        "WITH a AS MATERIALIZED (SELECT 1) SELECT * FROM a",
        "SELECT v.code FROM (VALUES ('a'), ('b')) AS v(code) JOIN (SELECT 1) AS w (n) ON true",
        "SELECT area, count(*) FROM users GROUP BY ROLLUP (area)",
        "SELECT cast(total AS numeric(10, 2)), sum(total) OVER (PARTITION BY area) FROM users",
        "SELECT TOP (5) DATEADD(day, -1, GETDATE()) FROM users",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM users",
        "PRAGMA table_info(users)",
        "SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0",
        "SELECT pg_size_pretty(pg_total_relation_size('users')), current_setting('work_mem'), version()",
        "SELECT last_insert_id(), connection_id(), database()",
        "SELECT a --\nFROM b -- it's short",
        "SELECT ARRAY['a', 'b'], c[1], [d], 'it''s' FROM `e`",
        "SELECT a\r\nFROM b\r\n",
        "SELECT a - -1, b --c\nFROM d",
        "SELECT a\nFROM b\nGO\nSELECT c FROM d\nGO",
        "SELECT receive, disable, trigger FROM conversation",
        "SELECT a /\nb FROM c",
        "SELECT receive FROM a",
    ],
)
def test_a_statement_that_selects_reads(statement: str) -> None:
    assert sql_reads(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "-- select",
        "DELETE FROM users",
        "SELECT 1; DROP TABLE users",
        "SELECT 1 FROM [users",
        "WITH gone AS (DELETE FROM users RETURNING *) SELECT * FROM gone",
        "SELECT * INTO copies FROM users",
        "SELECT * FROM users FOR UPDATE",
        "SELECT pg_terminate_backend(7)",
        "SELECT setval('s', 1)",
        "SELECT 1, 9setval('s', 1)",
        "SELECT setval /* now */ ('s', 1)",
        "SELECT 1 /* ' */; DELETE FROM users /* ' */",
        "SELECT 1 /* ** ' **/; DELETE FROM users /* ' */",
        "EXPLAIN ANALYZE DELETE FROM users",
        "SELECT 1 /*! ; DELETE FROM users */",
        "SELECT 1 /*M!100100 ; DELETE FROM users */",
        "SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */",
        r"SELECT 'it\'; DELETE FROM users; -- '",
        'SELECT "a\\"; DELETE FROM users; -- "',
        "SELECT 1 # '\n; DELETE FROM users # '",
        "SELECT 1--x; DELETE FROM users",
        "SELECT 1 /* /* */ ' */; DELETE FROM users -- '",
        "SELECT s.NEXTVAL FROM dual",
        *(f"SELECT 1 {word}" for word in ("SHUTDOWN", "RECONFIGURE", "DBCC FREEPROCCACHE", "WAITFOR DELAY '1:00'")),
        *(
            f"SELECT 1 {word}"
            for word in ("KILL 53", "DENY SELECT ON a TO b", "BACKUP DATABASE a TO DISK = 'b'", "ROLLBACK")
        ),
        "SELECT [writefile]('a', 'b')",
        "SELECT [load_extension] /* */ ('a')",
        "SELECT NEXT VALUE FOR invoices",
        "SELECT next /* */ value\nfor invoices",
        "WITH 1 AS x MATCH p=(n) REMOVE n.email RETURN p",
        "SELECT billing.count(1)",
        "SELECT billing . /* */ count (1)",
        "SELECT system$version()",
        "SELECT a.pg_catalog.count(1)",
        "SELECT 'drop table a' \\gexec",
        "SELECT 1 \\g /etc/passwd",
        "SELECT 1 \\! rm a",
        "SELECT 1 --\n; DELETE FROM users",
        "SELECT 1; --\nDELETE FROM users;",
        "SELECT setval --\n('s', 1)",
        "SELECT 1 --'\n; DELETE FROM users --'",
        "SELECT 1 // '\n; DELETE FROM users // '",
        "SELECT 1 //*\n; DELETE FROM users //*/",
        "SELECT 1 -- a\r; DELETE FROM users",
        "SELECT 1 -- a\r'\n; DELETE FROM users -- '",
        "SELECT a FROM b WHERE c = $$'$$; DELETE FROM users; SELECT a FROM b WHERE c = $$'$$",
        "SELECT $a$'$a$; DELETE FROM users; SELECT $a$'$a$",
        "SELECT q'[']' FROM dual; DELETE FROM users; SELECT nq'[']' FROM dual",
        "SELECT [a'] FROM b; DELETE FROM users; SELECT [c']",
        "SELECT [a--] FROM b; DELETE FROM users",
        'SELECT [`a"] FROM b; DELETE FROM users; SELECT [`"]',
        "SELECT '''a'b'''; DELETE FROM users; SELECT '''c'd'''",
        "SELECT a ` b; DELETE FROM users; SELECT c ` d",
        "vacuum",
        "EXPLAIN ANALYZE UPDATE users SET name = 'a'",
        "EXPLAIN (ANALYZE) DELETE FROM users",
        "ANALYZE users",
        "REPLACE INTO users VALUES (replace('a', 'b', 'c'))",
        "TRUNCATE users",
        "WITH a AS (INSERT INTO users VALUES (1) RETURNING id) SELECT * FROM a",
        "WITH a AS MATERIALIZED (UPDATE users SET a RETURNING id) SELECT * FROM a",
        "WITH setval(a) AS (SELECT 1) SELECT setval('s', 1)",
        "SELECT * FROM dblink_exec(a) AS (b text)",
        "SELECT nextval('s')",
        "SELECT \"setval\"('s', 1)",
        "SELECT pg_catalog.\"setval\" ('s', 1)",
        "SELECT `sys`.`setval`(1)",
        "SELECT lo_import('/etc/passwd'), pg_advisory_lock(1), sleep(9), load_file('a'), xp_cmdshell('a')",
        "SELECT pg_terminate_backend(pid), pg_cancel_backend(pid) FROM pg_stat_activity",
        "SELECT pg_switch_wal()",
        "SELECT set_config('work_mem', '1GB', false)",
        "SELECT pg_read_file('a')",
        "SELECT pg_stat_reset()",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "USE shop",
        "SELECT 1\nGO\nsp_rename 'a', 'b'",
        "SELECT 1\n go 5 \nxp_cmdshell 'rm'",
        "SELECT 1 FROM dual\n/\nhost rm a",
        "SELECT 1 RECEIVE * FROM q",
        "WITH a AS (SELECT 1) RECEIVE TOP (1) b FROM q",
        "SELECT 1\nRECEIVE b, c FROM q",
        "SELECT 1\nEND CONVERSATION @a",
        "SELECT 1 DISABLE TRIGGER a ON b",
        "select " + "a," * 20_000,
    ],
)
def test_all_other_statements_write(statement: str) -> None:
    assert not sql_reads(statement)


COMPUTED = st.sampled_from(["a", "lower(a)", "cast(a as numeric(9, 2))", "count(*)", "'delete it'", "coalesce(a, 'x')"])
SOURCES = st.sampled_from(["b", "(select 1) as c", "(values (1)) as v(n)", "b join d using (e)", "unnest(f) as g(h)"])
ACTING = st.sampled_from(
    [
        "delete from b",
        "update b set a = 1",
        "insert into b values (1)",
        "merge into b using c on true",
        "select setval('s', 1)",
        "select a into c from b",
        "drop table b",
        "call p()",
        "grant all on b to c",
    ]
)


@given(
    st.lists(COMPUTED, min_size=1, max_size=4),
    SOURCES,
    st.sampled_from(["", "explain ", "with c as (select 1) "]),
    ACTING,
)
def test_a_statement_reads_until_a_part_of_it_writes(columns: list[str], source: str, before: str, acting: str) -> None:
    statement = f"{before}select {', '.join(columns)} from {source}"

    assert sql_reads(statement)
    assert not sql_reads(f"{statement}; {acting}")
    assert not sql_reads(f"explain analyze {acting}")
    assert not sql_reads(f"with x as ({acting} returning id) {statement}")
    assert not sql_reads(f"with x(id) as materialized ({acting} returning id) select id from x")
