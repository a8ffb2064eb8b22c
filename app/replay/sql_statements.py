"""Decides whether statements of SQL only read, by lists of words and of functions; what is not known writes."""

from __future__ import annotations

import re

from app.replay.tables import words
from app.replay.text_kinds import LONGEST, is_sql

SQL_TEXT = re.compile(
    r"'(?:[^']|'')*+'|\"[^\"]*+\"|`[^`]*+`|--(?:[^\S\n\r][^\n\r]*+|(?=[\n\r])|\Z)|(?s:/\*.*?(?:\*/|\Z))"
)
# Brackets without an end reach to that of the text: a search from each of many open ones would be quadratic.
_TEXT_OR_BRACKETS = re.compile(rf"{SQL_TEXT.pattern}|\[[^\]]*+(?:\]|\Z)")
_QUOTES = "'\"`"
_LINE = re.compile(r"[\n\r]")
_BEGINS_COMMENT = re.compile("--|//|#")  # in some databases only
# A quote after a backslash, texts of PostgreSQL and of Oracle, and the end of a line for some databases only.
_OTHER_TEXT = re.compile(r"\\['\"`]|\$\w*+\$|(?<!\w)[nN]?[qQ]'|\r(?!\n)")
_WORD = re.compile(r"[^\W\d]\w*+")
# It begins only where a word does: within a word, each letter would have the rest read again. A name in a schema, such
# as `a.count(`, is that of another function, but for one in the schema of PostgreSQL itself.
_CALL = re.compile(r"(?:(?<!\w)\d*+|([.$])\s*+)([^\W\d]\w*+)\s*+\(")
_PLAIN_SCHEMA = re.compile(r"\bpg_catalog\s*+\.")
_CALL_IN_BRACKETS = re.compile(r"\]\s*+\(")  # `[f](1)` calls a function whatever its name has
# Statements of SQL Server begin without a semicolon before them.
_ACTS = re.compile(
    r"\b(?:next\s++value\s++for|(?:enable|disable)\s++trigger|(?:end|on)\s++conversation"
    r"|receive\s++(?:top\b|\*|\w++\s*+,|\w++\s++from\b))"
)
_BATCH = re.compile(r"^[^\S\n]*+(?:go|/)(?:[^\S\n]++\d++)?[^\S\n]*+$", re.MULTILINE)  # between statements, for clients
_COMMAND = re.compile(r"\\(?!g\s*+;?\s*+\Z)")  # of a client, such as `\g file`; `\G` at the end only shows
# Names with columns in parentheses, which are no calls: `as v(a, b)`, and `with v(a, b) as (select …`.
_NAMED_COLUMNS = re.compile(
    r"\bas\s++(?!materialized\b)[^\W\d]\w*+\s*+\([\w\s,]*+\)"
    r"|(?:\bwith|\brecursive|,)\s++[^\W\d]\w*+\s*+\([\w\s,]*+\)\s*+as\s*+\((?=\s*+(?:select|values|with)\b)"
)
_QUERY = re.compile(r"\s*+(?>(?:explain\s++)?)(select|with)\s", re.IGNORECASE)
_SIGN_OF_SQL = re.compile(
    r"[*=<>(_]|\b(?:where\s++\S++\s++(?:is|in|like|between|not)|(?:group|order)\s++by|limit\s++\d|join)\b",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\s*+(?:(?:create|alter|drop|refresh|reindex)\s++(?:or\s++replace\s++)?|comment\s++on\s++)([a-z]++)\s",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"\s*+(?:show\s++(?:full\s++|extended\s++)?(?:tables|databases|schemas|columns|fields|index(?:es)?|keys|views|triggers"
    r"|create\s++(?:table|view)|table\s++status|status|variables|(?:full\s++)?processlist|grants|engines)\b"
    r"|desc(?:ribe)?\s++(?:table\s++)?[\w.\"`]++\s*+;?\s*\Z|explain\s++(?:analyze\s++|verbose\s++|query\s++plan\s++)?(?:select|with)\s"
    r"|pragma\s++\w|values\s*+\()",
    re.IGNORECASE,
)
_OBJECTS = words("sql", "objects")
# How statements begin that change data, definitions or rights in every database.
_CHANGE = re.compile(
    r"(?:\A|[;)])\s*+(?>(insert)\s++into|(update)\s++\S++\s++set|(delete)\s++from|(merge|replace)\s++into|(truncate)\s++table"
    rf"|(alter|create|drop)\s++(?:index|table|{'|'.join(sorted(_OBJECTS))})|(?-i:(GRANT|REVOKE)))\s",
    re.IGNORECASE,
)
_QUOTED_NAME = " quoted_name "  # a call of it is a call of a function that is not known
_READS, _CHANGES, _FUNCTIONS = words("sql", "reading"), words("sql", "changing"), words("sql", "functions")
_ALSO_FUNCTIONS = words("sql", "also_functions")
_PRAGMAS = words("sql", "pragmas")
_CALLED = _FUNCTIONS | _ALSO_FUNCTIONS | _PRAGMAS


def sql_reads(text: str) -> bool:
    """Return True for statements of SQL that only select or describe, and call only functions that compute."""
    if len(text) > LONGEST or is_doubtful(text):
        return False
    plain = SQL_TEXT.sub(_placeholder, text).lower()
    if "#" in plain or _COMMAND.search(plain):  # `#` begins a comment of MySQL, in which a quote begins no text
        return False
    statements = [statement for part in _BATCH.sub(";", plain).split(";") if _WORD.search(statement := part.strip())]
    return bool(statements) and all(map(_statement_reads, statements))


def is_statement(text: str) -> bool:
    """Return True for a text that is a query of SQL, under whatever key, and no sentence such as "Select it from …"."""
    begin = _QUERY.match(text)
    if not begin or len(text) > LONGEST:
        return False
    plain = SQL_TEXT.sub(" ", text)
    return text[begin.start(1) :].startswith(("SELECT", "WITH")) or _SIGN_OF_SQL.search(plain) is not None


def is_change(text: str) -> bool:
    """Return True for SQL that certainly changes data, definitions or rights; a sentence "Delete from …" is none."""
    if len(text) > LONGEST:
        return False
    plain = SQL_TEXT.sub(" ", text)
    begin = _CHANGE.search(plain)
    return begin is not None and (begin[begin.lastindex or 0].isupper() or _SIGN_OF_SQL.search(plain) is not None)


def is_sql_or_listing(text: str) -> bool:
    """Return True for SQL, and for a text that shows what a database has, such as `show tables`."""
    return is_sql(text) or _LISTING.match(text) is not None


def is_definition(text: str) -> bool:
    """Return True for code that begins as a statement does that defines something in a database, such as a role."""
    begin = _DEFINITION.match(text)
    return begin is not None and begin[1].lower() in _OBJECTS


def _statement_reads(statement: str) -> bool:
    named = _WORD.findall(statement)
    plain = _PLAIN_SCHEMA.sub("", _NAMED_COLUMNS.sub(" named ", statement))
    called = ["".join(parts) for parts in _CALL.findall(plain)]
    changes = _CHANGES.intersection(named)
    if _ACTS.search(statement) or _CALL_IN_BRACKETS.search(statement):
        return False
    if changes:
        # `replace(a, 'b', 'c')` computes, and `explain analyze` only executes what follows.
        only_called = {name for name in _ALSO_FUNCTIONS if named.count(name) == called.count(name)}
        changes = changes - only_called - ({"analyze"} if named[0] == "explain" else set())
    is_pragma = named[0] == "pragma" and "=" not in statement and not _PRAGMAS.isdisjoint(named[1:2])
    return (named[0] in _READS or is_pragma) and not changes and _CALLED.issuperset(called)


def _placeholder(quoted: re.Match[str]) -> str:
    return _QUOTED_NAME if quoted[0][0] in '"`' else " "


def is_doubtful(text: str) -> bool:
    """Return whether databases may read comments and texts differently, so that one hides what another executes.

    MySQL executes some comments, and ends no text with a quote after a backslash; PostgreSQL nests comments. Other
    databases begin a comment with `--x`, `#` or `//`, and have names in brackets, or texts in three quotes.
    """
    plain, end = list[str](), 0
    for token in _TEXT_OR_BRACKETS.finditer(text):
        if _is_doubtful(token[0], text[token.end() : token.end() + 1]):
            return True
        plain += text[end : token.start()], " " if token[0].startswith("--") else "'"
        end = token.end()
    rest = text[end:]
    return (
        _OTHER_TEXT.search(text) is not None
        or any(quote in rest for quote in _QUOTES)
        or any(map(_hides_a_text, _LINE.split("".join([*plain, rest]))))
    )


def _is_doubtful(token: str, after: str) -> bool:
    """Return whether databases may read a comment, a text or brackets, before this character, in several ways."""
    if token.startswith("/*"):
        return "/*" in token[2:] or token.startswith(("/*!", "/*M!"))
    if token[0] == "[":
        is_open = not token.endswith("]")
        return (
            is_open
            or any(token.count(quote) % 2 for quote in _QUOTES)
            or any(begin in token for begin in ("--", "/*", "#"))
        )
    if token[0] == "`" and any(sign in token for sign in "'\";"):
        return True
    return token[0] in _QUOTES and (after in ("_", "$", *_QUOTES) or after.isalnum())


def _hides_a_text(line: str) -> bool:
    """Return whether a text or a comment follows what may begin a comment; each is a quote in the line."""
    begin = _BEGINS_COMMENT.search(line)
    return "/'" in line or (begin is not None and "'" in line[begin.end() :])
