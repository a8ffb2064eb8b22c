"""Checks that a sharding proxy could route what the product executes on MySQL, by the schema in docs/capacity.md."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp

CAPACITY = Path(__file__).parents[2] / "docs" / "capacity.md"
# What MySQL calls it.
NO_TABLE = "DUAL"
OF_EVERY_SHARD = Path(__file__).with_name("every_shard.toml")


@dataclass(frozen=True)
class Vindexes:
    """The columns of each table by which Vitess finds the shard of a row, the primary one first; none if unsharded.

    `everywhere` are the tables that every shard has. Columns of one name have the same lookup in all tables, and the
    column `id` that of the columns that refer to its table.
    """

    of: Mapping[str, tuple[str, ...]]
    everywhere: frozenset[str]

    def name(self, table: str, column: str) -> str:
        """Return the name of a column's vindex, "" if it has none."""
        if column not in self.of[table]:
            return ""
        return f"{table.removesuffix('s')}_id" if column == "id" else column


def documented_vindexes() -> Vindexes:
    rows = [(_quoted(tables), keyspace, tuple(_quoted(columns))) for tables, keyspace, columns in table_rows("Tables")]
    return Vindexes(
        {table: columns for tables, _, columns in rows for table in tables} | {NO_TABLE: ()},
        frozenset(table for tables, keyspace, _ in rows for table in tables if "reference" in keyspace) | {NO_TABLE},
    )


def documented_kinds() -> set[str]:
    return {kind for row in table_rows("Statements") for kind in _quoted(row[0])}


def statements_of_every_shard() -> list[str]:
    """Return the summaries of the statements that may ask every shard."""
    return [
        statement for entry in tomllib.loads(OF_EVERY_SHARD.read_text())["asked"] for statement in entry["statements"]
    ]


def problems_of(texts: Mapping[str, str]) -> list[str]:
    """Return what is wrong with statements, which are the keys: the values are the functions that execute them."""
    vindexes, kinds, listed = documented_vindexes(), documented_kinds(), {*statements_of_every_shard()}
    problems = []
    for text, function in texts.items():
        statement = Statement(text)
        if not statement.is_routed(vindexes) and statement.summary not in listed:
            problems.append(f"{function} asks every shard: {statement.summary}")
        problems += [f"{function} executes {kind}: {text}" for kind in sorted(statement.kinds - kinds)]
    return problems


def unrouted(texts: Iterable[str]) -> set[str]:
    """Return the summaries of those statements that ask every shard."""
    vindexes = documented_vindexes()
    return {statement.summary for statement in map(Statement, texts) if not statement.is_routed(vindexes)}


def table_rows(title: str) -> list[list[str]]:
    """Return the rows of the table in docs/capacity.md that has this title in its first column."""
    _, _, after = CAPACITY.read_text().partition(f"\n| {title} |")
    lines = after.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def _quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


class Statement:
    """A statement as parsed."""

    def __init__(self, text: str) -> None:
        self.tree = sqlglot.parse_one(text.replace("%s", "?").replace("%%", "%"), read="mysql")

    @property
    def kinds(self) -> set[str]:
        """What the statement is made of that a server which speaks MySQL's protocol may not support."""
        return {*_kinds(self.tree)}

    @property
    def summary(self) -> str:
        """The statement without the columns that it selects or sets, and without what does not choose rows."""
        tree = self.tree.copy()
        for select in tree.find_all(exp.Select):
            for clause in ("distinct", "group", "having", "order", "locks"):
                select.set(clause, None)
            if len(select.expressions) > 1:
                select.set("expressions", [exp.Star()])
        if isinstance(tree, exp.Update):
            tree.set("expressions", [exp.Placeholder()])
        if len({table.alias_or_name for table in tree.find_all(exp.Table)}) == 1:
            for column in tree.find_all(exp.Column):
                column.set("table", None)
        return tree.sql("mysql")

    def is_routed(self, vindexes: Vindexes) -> bool:
        """Return whether the statement names the shards of its rows, in each of its queries, and moves no row."""
        tables = {table.name for table in self.tree.find_all(exp.Table)}
        if not tables <= vindexes.of.keys():
            # A table of a test. Another test checks that each table of the product is documented.
            return True
        sharded = {table for table in tables if vindexes.of[table]}
        # Of the tables that are not sharded, only tables that every shard has may be joined.
        return (not sharded or tables <= sharded | vindexes.everywhere) and _Scope(self.tree, vindexes).is_routed()


class _Scope:
    """A SELECT, INSERT, UPDATE or DELETE without the queries in it, which are other scopes."""

    def __init__(self, tree: exp.Expr, vindexes: Vindexes, outer: Mapping[str, str] = {}) -> None:
        """`outer` are the tables, by their aliases, that a query in a statement may refer to, and are routed."""
        self._vindexes = vindexes
        nodes = _own(tree)
        self._inner = [node for node in nodes if isinstance(node, exp.Select) and node is not tree]
        self._tree = tree
        self._tables = {node.alias_or_name: node.name for node in nodes if isinstance(node, exp.Table)}
        self._all = {**outer, **self._tables}
        self._routed = {*outer, *(alias for alias, table in self._tables.items() if not vindexes.of[table])}

    def is_routed(self) -> bool:
        if isinstance(self._tree, exp.Insert):
            self._find_inserted()
        if self._moves():
            return False
        conditions = list(self._conditions())
        # A table may be joined to one that is routed by a later condition.
        for _ in self._tables:
            for column, value, alias in conditions:
                alias_of_column, vindex = self._alias(column), self._vindex(column)
                if vindex and alias in ("", alias_of_column) and self._is_known(value, vindex):
                    self._routed.add(alias_of_column)
        outer = {alias: table for alias, table in self._all.items() if alias in self._routed}
        return {*self._tables} <= self._routed and all(
            _Scope(query, self._vindexes, outer).is_routed() for query in self._inner
        )

    def _find_inserted(self) -> None:
        schema = self._tree.this
        primary = self._vindexes.of[schema.this.name][:1]
        if {*primary} <= {column.name for column in schema.expressions}:
            self._routed.add(schema.this.alias_or_name)

    def _moves(self) -> bool:
        """Return whether the column of a vindex is set, other than to the value that was inserted."""
        conflict = self._tree.args.get("conflict")
        changes = conflict.expressions if conflict else self._tree.expressions
        return isinstance(self._tree, exp.Insert | exp.Update) and any(
            self._vindex(change.this) and change.expression.sql("mysql") != f"VALUES({change.this.name})"
            for change in changes
        )

    def _conditions(self) -> Iterator[tuple[exp.Column, exp.Expr, str]]:
        """Yield a column, what it must be equal to, and the only table that it is about: "" for any."""
        where = self._tree.args.get("where")
        yield from ((*pair, "") for pair in _equal(where.this if where else None))
        for join in self._tree.args.get("joins") or ():
            alias = join.alias_or_name if join.side else ""
            yield from ((*pair, alias) for pair in _equal(join.args.get("on")))

    def _is_known(self, value: exp.Expr, vindex: str) -> bool:
        """Return whether a value is there before its table is asked, or is in the same vindex of a routed table."""
        if isinstance(value, exp.Column):
            return self._alias(value) in self._routed and self._vindex(value) == vindex
        parts = _own(value)
        return not any(isinstance(part, exp.Column) for part in parts) and all(
            _Scope(part, self._vindexes).is_routed() for part in parts if isinstance(part, exp.Select)
        )

    def _alias(self, column: exp.Column) -> str:
        return column.table or next(iter(self._tables))

    def _vindex(self, column: exp.Column) -> str:
        table = self._all.get(self._alias(column))
        return self._vindexes.name(table, column.name) if table else ""


def _equal(condition: exp.Expr | None) -> Iterator[tuple[exp.Column, exp.Expr]]:
    """Yield the columns that must be equal to something for a condition to hold, each with that."""
    match condition:
        case exp.And() | exp.Paren():
            for part in condition.iter_expressions():
                yield from _equal(part)
        case exp.EQ(this=left, expression=right):
            yield from (pair for pair in ((left, right), (right, left)) if isinstance(pair[0], exp.Column))
        case exp.In(this=exp.Column() as column):
            if not any(value.find(exp.Column) for value in condition.expressions):
                yield column, condition.args.get("query") or condition.expressions[0]


def _own(tree: exp.Expr) -> list[exp.Expr]:
    """Return what a tree is made of, with the queries in it, and without what these are made of."""
    return list(tree.walk(prune=lambda node: isinstance(node, exp.Select) and node is not tree))


CLAUSES: dict[type[exp.Expr], str] = {
    exp.CTE: "WITH",
    exp.Distinct: "DISTINCT",
    exp.Exists: "EXISTS",
    exp.Group: "GROUP BY",
    exp.Having: "HAVING",
    exp.OnConflict: "ON DUPLICATE KEY UPDATE",
    exp.Returning: "RETURNING",
    exp.Union: "UNION",
    exp.Window: "OVER",
}


def _kinds(tree: exp.Expr) -> Iterator[str]:
    verb = tree.key.upper()
    yield verb
    if tree.args.get("ignore"):
        yield f"{verb} IGNORE"
    if isinstance(tree, exp.Insert) and isinstance(tree.expression, exp.Query):
        yield f"{verb} … SELECT"
    if isinstance(tree, exp.Update | exp.Delete):
        yield from (f"{verb} … {clause.upper()}" for clause in ("order", "limit") if tree.args.get(clause))
        if tree.this.args.get("joins"):
            yield f"{verb} of two tables"
    for node in tree.walk():
        match node:
            case exp.Lock(args={"update": update, "wait": wait}):
                yield "FOR UPDATE" if update else "FOR SHARE"
                yield from () if wait is None else ("NOWAIT" if wait else "SKIP LOCKED",)
            case exp.IndexTableHint():
                yield f"{node.name} INDEX"
            case exp.In() if node.args.get("query"):
                yield "IN (SELECT …)"
            case exp.Subquery(parent=exp.From() | exp.Join()):
                yield "FROM (SELECT …)"
            case exp.Subquery(parent=parent) if not isinstance(parent, exp.In):
                yield "(SELECT …)"
            case exp.Anonymous():
                # A function that not every server has.
                yield f"{node.name.upper()}()"
            case _ if type(node) in CLAUSES:
                yield CLAUSES[type(node)]
