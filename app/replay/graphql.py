"""Decides whether a document of GraphQL only queries."""

from __future__ import annotations

import re

from app.replay.text_kinds import LONGEST

_BEGIN = re.compile(
    r"\s*+(?>(?:#[^\n\r]*+[\n\r]\s*+)*)(?:(?:query|mutation|subscription)\b[^{]{0,2000}\{|fragment\s++\w++\s++on\b|\{\s*+[#.\w])"
)
# The texts of a document. The group matches where one has no end: a search that began again within such a text would
# read the rest once for each quote.
TEXT = r'"""(?>(?:\\"""|\\(?!""")|[^"\\]|"(?!""))*)(?:"""|())|"(?>(?:[^"\\\n\r]|\\.)*)(?:"|())'
_TOKEN = re.compile(TEXT + r"|#[^\n\r]*+|\w++|\S")
_OPENS, _CLOSES = frozenset("{(["), frozenset("})]")


def is_graphql(text: str) -> bool:
    """Return True for a text that begins as a document of GraphQL does."""
    return _BEGIN.match(text) is not None


def graphql_reads(text: str) -> bool:
    """Return True for a document with queries and fragments only, of which at least one is a query."""
    if len(text) > LONGEST or not is_graphql(text):
        return False
    depth, queries, is_begun = 0, 0, False  # `is_begun` between the word of a definition and its braces
    for token in _TOKEN.finditer(text):
        part = token[0]
        if token.lastindex:  # a text without an end
            return False
        if part in _CLOSES:
            depth -= 1
            is_begun = is_begun and not (part == "}" and not depth)
            if depth < 0:
                return False
        elif part in _OPENS:
            if part == "{" and not depth:
                queries += not is_begun
                is_begun = True
            depth += 1
        elif not depth and not is_begun and part[0] != "#":
            if part not in ("query", "fragment"):
                return False
            is_begun = True
            queries += part == "query"
    return not depth and not is_begun and queries > 0
