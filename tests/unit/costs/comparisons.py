"""Comparisons of values and texts that grow in one way each, without a replay around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from app.replay.answers import Answers
from app.replay.argument_notes import ArgumentNotes
from app.replay.arguments import CallRules, compare_arguments
from app.replay.call_effects import call_reads, changes_data
from app.replay.case_types import Check, CheckedAnswer, StringKind
from app.replay.checks import Checker
from app.replay.code_forms import code_note
from app.replay.loosening import Evidence, Loosening
from app.replay.matcher_places import ranked
from app.replay.matchers import parse_matchers
from app.replay.ranges import contains_range
from app.replay.result_types import ProducedAnswer, ProducedCall
from app.replay.schedules import same_rule, schedule_form
from app.replay.secret_reads import reads_secret
from app.replay.shell_commands import command_reads
from app.replay.text_kinds import kinds_of
from app.replay.text_reader import TextReader
from app.replay.texts.background import TextBackground
from app.replay.texts.facts import compare_facts
from app.replay.texts.scalars import letters
from app.replay.texts.sources import Sources
from app.replay.times_of_day import clock_of
from app.replay.tool_names import effect_of_name
from app.replay.value_notes import list_note, text_note
from app.values.budget import UNLIMITED
from app.values.json_pointer import PointerTree, parse_pointer
from tests.support.cores import Make
from tests.support.growth import Work
from tests.unit.replay.fakes import call

# Characters that need another form, two readings, a unit or a zone.
MANY_FORMS = "03/04/20{n:02} and 2:{n:02} pm CET, {n} kg, {n}% or 1.{n}0 on 5 to {n} May"


def answers(size: int) -> Work:
    """Compare answers of JSON with as many members, and of texts with as many values."""
    numbers, others = (str([[n, {"a": n * sign}] for n in range(size)]).replace("'", '"') for sign in (1, -1))
    recorded, produced = (" ".join(MANY_FORMS.format(n=n + more) for n in range(size)) for more in (0, size // 2))
    pairs = [(numbers, others), (recorded, produced)]
    sources = Sources(user=recorded, results=[recorded, [1] * size], messages=[produced] * 2)

    def work() -> None:
        for check in ("meaning", "facts", "json_subset"):
            for left, right in pairs:
                step = CheckedAnswer(text=left, check=Check(answer=check))
                Answers(lambda: sources, TextReader()).compare(step, ProducedAnswer(right))

    return work


VALUES_IN_FORMS: dict[str, Callable[[int, bool], Any]] = {
    "days": lambda n, other: f"2026-05-{n % 28 + 1:02}" if other else f"{n % 28 + 1} May 2026",
    "names with accents": lambda n, other: f"Anna{n}" if other else f"Ännä{n}",
    "words in another order": lambda n, other: f"Ann Lee{n}" if other else f"Lee{n}, Ann",
    "titles": lambda n, other: f"Ann Lee{n}" if other else f"Dr. Ann Lee{n}",
    "addresses of persons": lambda n, other: f"a{n}@b.c" if other else f"Ann a{n}@b.c",
    "prose": lambda n, other: f"It is {n} of them, as you asked." if other else f"They are {n}, as I have heard.",
    "entries": lambda n, other: [n] if other else n,
    "numbers": lambda n, other: n + 0.5 if other else n,
    "other types": lambda n, other: str(n) if other else n,
}


def arguments(make: Callable[[int, bool], Any], matcher: Any = None, effect: Any = "write") -> Make:
    """Compare calls with as many arguments that are written differently."""

    def prepare(size: int) -> Work:
        left, right = ({f"k{n}": make(n, other) for n in range(size)} for other in (False, True))
        matchers = ranked(parse_matchers({f"/k{n}": matcher for n in range(size)} if matcher else {}))
        kinds = PointerTree[StringKind]({parse_pointer(f"/k{n}"): "value" for n in range(0, size, 2)})
        rules = CallRules(effect=effect, kinds=kinds)
        return lambda: compare_arguments(left, right, matchers, Sources, rules=rules)

    return prepare


MATCHERS: dict[str, Any] = {
    "ai": {"match": "ai", "value": "it fits"},
    "number": {"match": "number", "tolerance": 1},
    "text": "text",
    "one_of": {"match": "one_of", "values": [0, 1]},
}


def lists(size: int) -> Work:
    """Compare lists of as many entries, which lack defaults, and leave out an object of as many defaults."""
    defaults = {f"k{n}": {"default": n} for n in range(size)}
    schema = {"properties": {"a": {"items": {"properties": {"k": {"default": 1}}}}, "b": {"properties": defaults}}}
    entries = [{"id": n} for n in range(size)]
    left, right = {"a": entries, "b": {f"k{n}": n for n in range(size)}}, {"a": entries[::-1]}
    one_of = {"match": "one_of", "values": [{"id": n} for n in range(size)]}
    matchers = [ranked(parse_matchers(given)) for given in ({}, {"/a": "unordered"}, {"/a/0": one_of})]
    text = ", ".join(f"{n}" for n in range(size))
    names = [f"n{n}" for n in range(20 * size)]

    def work() -> None:
        for given in matchers:
            compare_arguments(left, right, given, Sources, rules=CallRules("read", schema))
        ArgumentNotes(schema, "read", (left, left), TextReader()).note_on_extra(("b",), left["b"])
        list_note(text.split(", "), text, UNLIMITED)
        kinds_of([f"It is {n} of them, as I wrote." for n in range(size)], {}, "write")
        kinds_of({"title": f"Board {'7 ' * size}"}, {}, "write")
        compare_arguments({"a": names[1:]}, {"a": names}, ranked({}), Sources, rules=CallRules("read"))

    return work


def open_arguments(size: int) -> Work:
    """Leave as many arguments to a reader, with an assertion and without one."""
    given = {f"k{n}": "They are here, as I have heard." for n in range(size)}
    others = dict.fromkeys(given, "It is there, as you have asked.")
    matcher = {f"/k{n}": MATCHERS["ai"] for n in range(size)}
    steps = [call("put", given, arguments=matcher), call("put", given)]

    def work() -> None:
        for step in steps:
            Checker({}, Sources).compare(step, ProducedCall("put", others))

    return work


def calls_in_other_forms(size: int) -> Work:
    """Compare commands of as many options, documents of as many fields and requests of as many parameters."""
    names = [f"n{n}" for n in range(size)]
    variables = {name: [1] * 3 for name in names}
    defined = ", ".join(f"${name}: [Int] = [1, 1]" for name in names)
    fields = " ".join(f"f(a: ${name}, b: {{c: 2}}) {{ id state }}" for name in names)
    document = {"query": f"mutation M({defined}) {{ {fields} }}", "variables": variables}
    request = {"method": "POST", "url": "https://a.b/c", "params": dict.fromkeys(names, "1"), "body": {"a": 1}}
    options = " ".join(f"-abc a{n} --{name}=1" for n, name in enumerate(names))
    few = " ".join(f"-{letter} {letter}" for letter in "abcdefgh")
    pairs = [
        (document, {**document, "query": document["query"].replace("f(", "g(")}),
        (request, {**request, "headers": dict.fromkeys(names, "1")}),
        (request, {**request, "url": f"https://a.b/c?{'&'.join(f'{name}=1' for name in names)}", "params": {}}),
        ({"command": ["tool", *names]}, {"command": f"tool {' '.join(names)} x"}),
        ({"args": f"tool {options} {few} x"}, {"args": f"tool {options} x {few}"}),
    ]

    def work() -> None:
        for left, right in pairs:
            compare_arguments(left, right, ranked({}), Sources, rules=CallRules("write"))
        code_note(f"tool {options} -x y", f"tool {options} -y y")
        code_note(f"tool {few}", " ".join(["tool", *(f"--{letter}x {letter}" for letter in "hgfedcba")]))
        rows = ", ".join(f"({n}, {n})" for n in range(size))
        code_note(f"insert into t (a, b) values {rows}", f"select values {'values ' * size} {rows}")
        code_note(f"insert into t (a, b) values {rows}", f"insert into t (b, a) values {rows}")
        code_note(f"create table t as select a from (values {rows})", f"delete from t {'(' * size} values {rows}")
        code_note(f"tool {'x -a 1 -b 2 ' * size}", f"tool {'x -b 2 -a 1 ' * size}")
        code_note(f"tool -a 1 {' '.join(names)}", f"tool --a=1 {' '.join(names)}")
        code_note("at 1 pm " * size, "at 1 am" + " am" * size)
        clock_of("11:30 pm")

    return work


def programs_in_other_forms(size: int) -> Work:
    """Compare commands of as many programs."""
    return lambda: code_note("tool -a 1 -b 2; " * size, "tool -b 2 -a 1; " * size)


def code(size: int) -> Work:
    """Compare addresses of as many parameters, statements of as many texts, and commands of as many options."""
    address = [f"https://a.b/c?{'&'.join(f'k{n}={n}' for n in order)}" for order in (range(size), range(size)[::-1])]
    statement = " and ".join(f"c = 'd {n}'" for n in range(size))
    options = "-C a " * size
    listed = ", ".join(f"c{n}" for n in range(size))
    numbers = ", ".join(map(str, range(size)))
    commands = [
        f"rm {'-r -fv a ' * size}",
        f"find {'a ' * size}{'! ! -type f -a ' * size}-print0 | xargs {'-0 ' * size}rm",
        "ls && " * size + "rm a; " * size,
        "kubectl delete pod " + "a " * size,
        f"ssh h rm {'a ' * size}",
        f"rm -- {'a ' * size}",
        f"deploy {' '.join(f'--a{n}=1' for n in range(size))}",
        f"sed -i {'-n ' * 20 * size}s/a/b/ c",
        f"adm update {' '.join(f'A{n}=B' for n in range(size))} -m '{'a b ' * size}'",
    ]
    statements = [
        f"insert into t ({listed}) values ({numbers})",
        f"insert into t set {listed.replace(',', ' = 1,')} = 1",
        f"alter role a set {'set b to ' * size}c",
        f"update t set {listed.replace(',', ' = 1,')} = 1 where a in ({numbers}) and (b = 1 and c between 1 and 2)",
    ]
    siblings = {f"k{n}": f"2026-11-{n % 28 + 1:02}" for n in range(size)}
    names = [" ".join(f"{word}{n}" for n in range(size)) for word in ("Ann", "Änn")]
    accents = "".join(chr(0x1EA0 + size + n) for n in range(size))  # letters that the work on another size has not

    def work() -> None:
        code_note(*address)
        code_note(f"select a from b where {statement}", f"SELECT a  FROM b WHERE {statement};")
        for text in (*commands, *statements):
            code_note(text, f"{text} {';' * size}")
        code_note(f"delete from t where {statement}", f"delete from t where {statement} and date '2026-01-01' = e")
        code_note("a" + " + 1" * size, "a" + " +  1" * size + " + 2")
        schedule_form("FREQ=DAILY;" + f"BYDAY={','.join(['MO'] * size)};" * 2)
        schedule_form(f"{','.join(['1'] * size)} * * * *")
        contains_range("k1", siblings, "2026-11-02", "2026-11-01")
        command_reads(f"git {options}status")
        command_reads(f"env {'-i ' * size}ls")
        text_note(names[0], names[1], "read", is_fixed=False)
        text_note(accents, "a", "read", is_fixed=False)
        letters(f"a -{'$' * size}1")

    return work


def written_otherwise(size: int) -> Work:
    """Compare expressions, patches, paths, rules and entries that are as long, and times next to as many others."""
    terms = "+".join(f"(2*{n}-1)^2/3" for n in range(size))
    rule = f"FREQ=WEEKLY;BYDAY={','.join(['MO'] * size)}"
    hunks = "".join(f"@@ -{n} +{n} @@\n-a\n+b\n" for n in range(size))
    entries = [f"a{n}={n}" for n in range(size)]
    times = {f"t{n}": "2026-12-01T09:00:00+02:00" for n in range(size)}
    pairs = [
        ({"formula": terms}, {"formula": f"{terms} + 1"}),
        ({"rule": rule}, {"rule": f"{rule};COUNT=1"}),
        ({"labels": ",".join(entries)}, {"labels": ",".join(entries[::-1])}),
        ({**times, "timeZone": "Africa/Johannesburg"}, times),
        ({f"k{n}": n for n in range(size)} | {"old": "a", "new": "b"}, {"old": "xa", "new": "xb"}),
        ({"hours": 1, **times}, {"minutes": 60, **times}),
    ]

    def work() -> None:
        for left, right in pairs:
            compare_arguments(left, right, ranked({}), Sources, rules=CallRules("write"))
        code_note(f"--- a\n+++ b\n{hunks}", f"diff --git a b\n--- a\n+++ b\n{hunks}")
        code_note(f"https://a.b/{'c/../%7E/' * size}", f"https://a.b/{'./' * size}")
        same_rule(rule, f"{rule};INTERVAL=1")
        code_note("-- a\n" * size + "select a from b", "/* a */" * size + "select b from a")

    return work


def statements(size: int) -> Work:
    """Bring statements to their forms, each of which grows in another part."""
    many = range(size)
    written = [
        f"update t set {', '.join(f'a{n} = a{n} + 1' for n in many)} where b = 1",
        f"insert into t ({', '.join(f'a{n}' for n in many)}) values ({', '.join(map(str, many))})",
        f"insert into t (a, b) values {', '.join(f'({n}, 1)' for n in many)} on conflict do nothing",
        f"insert into t select {', '.join(f'x.a{n}' for n in many)} from u x {'join v on v.a = u.b ' * size}limit 1, 2",
        f"delete from t where {' or '.join(f'a = {n}' for n in many)} and {' and '.join(f'b <> {n}' for n in many)}",
        f"delete from t where a in ({', '.join(map(str, many))}) or {'not ' * size} b = 1",
        f"delete from t where ({' or '.join(f'a{n} < b' for n in many)}) = false",
        f"delete from t where {'c.' * size}a = {'- ' * size}1{'::int' * size}{' + 1' * size}{' * 2' * size}",
        f"delete from t where a = case {'when b = 1 then 2 ' * size} else 3 end and f({', '.join(map(str, many))}) = 1",
        f"delete from t where (a, b) = ({', '.join(map(str, many))}) and {'(' * size}a = 1{')' * size}",
        f"update a.b set c = 1 from {', '.join(f'x as y{n}' for n in many)} where a = {'case when ' * size}",
        f"with {', '.join(f'c{n} as (select 1)' for n in many)} select distinct a from b group by {'a, ' * size} b",
        f"delete from t where a is {'not distinct from b ' * size}",
        f"delete from t where f({', '.join(map(str, many))}) between 1 and 2",
        '"a"."b".' * size,
    ]
    secrets = {
        "path": [f"a/{'.env/' * size}"] * size,
        "command": f"{'ssh a ' * size} cat {'b;c ' * size} | " * 2 + "sudo env",
        "sql": f"select {'a, ' * size} b from c",
        "cmd": f"bash -c '{'ls ; ' * size}'",
    }

    def work() -> None:
        for text in written:
            code_note(text, f"{text} ")
            code_note(text.upper(), f"{text};")
        code_note(json.dumps({f"a{n}": [n / 2] for n in many}), "{}")
        reads_secret(secrets)
        changes_data({"sql": "; " * size, "b": "; update a" * size, "c": ") delete " * size, "d": "';" * size})
        call_reads("a", {"b": "select 1 from c where d = 1", **{f"a{n}": n for n in many}}, runs_only=False)
        call_reads("a", {"b": "ls -a " * size}, runs_only=False)
        call_reads("a", {"b": "ls " * size}, runs_only=False)
        effect_of_name("查询" * size + "a")
        effect_of_name("a" + "查询" * size)
        command_reads(f"gcloud {'a ' * size} list")

    return work


def several_statements(size: int) -> Work:
    """Compare texts of as many statements, and statements of as many clauses."""
    several = f"update t set a = 1 where b = 2{'; update t set a = 2' * size}"
    clauses = f"delete from t {'having b = 1 ' * size} where c = 1"
    return lambda: (code_note(several, f"{several};"), code_note(clauses, f"{clauses} and d = 2"))


def texts(size: int) -> Work:
    """Compare texts that have as many values with the values of a conversation of as many messages."""
    values = [MANY_FORMS.format(n=n) for n in range(size)]
    results = [
        {"at": f"2:{n:02} pm EST", "on": f"{n % 7 + 6}/{n % 5 + 1}/2026", "n": [1] * (n % 3)} for n in range(size)
    ]

    def work() -> None:
        reader = TextReader()
        TextBackground(reader).messages(values)
        before = [Sources(results=results[:3], reader=reader)]
        sources = Sources(user=values[0], results=results, before=before, messages=values, reader=reader)
        recorded = " ".join([*values, *(f"{n % 5 + 1}/{n % 7 + 6}/2026 at 2:{n:02} pm CET" for n in range(size))])
        produced = " ".join(f"{n} lb, {n}th and 3:{n:02} am PST on {n % 5 + 1}/{n % 7 + 6}/2026" for n in range(size))
        for with_users_values in (False, True):
            compare_facts(recorded, produced, sources, with_users_values=with_users_values)
            compare_facts(produced, recorded, sources, with_users_values=with_users_values)

    return work


def loosening(size: int) -> Work:
    """Loosen the checks of calls that as many replays made with other numbers."""
    checker, last = Checker({}, Sources), range(1, size)
    step = call("put", {"a": [0] * size})
    evidence = [Evidence(ProducedCall("put", {"a": [*[0] * (size - 1), n]}), checker) for n in last]
    flat = [Evidence(ProducedCall("put", {"a": n}), checker) for n in last]
    inner: Any = 0
    other: Any = 1
    for _ in range(size):
        inner, other = {"a": inner}, {"a": other}
    deep = Evidence(ProducedCall("put", other), checker)

    def work() -> None:
        Loosening().of(step, evidence[:1])
        Loosening().of(call("put", {"a": 0}), flat)
        Loosening().of(call("put", inner), [deep])

    return work


def comparisons() -> dict[str, Make]:
    """Return the works by their names."""
    works: dict[str, Make] = {
        "answers": answers,
        **{f"arguments: {name}": arguments(make) for name, make in VALUES_IN_FORMS.items()},
        **{
            f"arguments by {name}": arguments(VALUES_IN_FORMS["numbers"], matcher) for name, matcher in MATCHERS.items()
        },
        "lists": lists,
        "open arguments": open_arguments,
        "code": code,
        "what is written otherwise": written_otherwise,
        "statements": statements,
        "several statements": several_statements,
        "calls in other forms": calls_in_other_forms,
        "programs in other forms": programs_in_other_forms,
        "texts": texts,
        "loosening": loosening,
    }
    return works
