"""Answers that several nouns share, and errors."""

from __future__ import annotations

from app.schemas.answer import Answer, anything, integer, many, mapping, number, text


class Error(Answer):
    error = text()


class TraceError(Error):
    message = text()
    code = integer()


class Tokens(Answer):
    """`cacheRead`, `cacheWrite` and `reasoning` are parts of the others."""

    prompt = integer()
    completion = integer()
    total = integer()
    cache_read = integer(required=False)
    cache_write = integer(required=False)
    reasoning = integer(required=False)


class Cost(Answer):
    """US dollars."""

    prompt = number()
    completion = number()
    total = number()


class ModelName(Answer):
    id = integer()
    name = text()
    vendor = text()


class PlaceholdersUsed(Answer):
    resolved = mapping(text(allow_none=True))
    ignored = many(text())


class ToolCall(Answer):
    id = text()
    name = text()
    arguments = anything()
