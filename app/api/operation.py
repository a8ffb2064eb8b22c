"""What the API's document says of a responder, said next to the responder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from marshmallow import Schema

Responder = TypeVar("Responder", bound=Callable[..., None])
Answers = Mapping[int, type[Schema] | None]


@dataclass(frozen=True, slots=True)
class Operation:
    """`answers` are those of success, None for one without a body; `errors` are statuses beyond what all of the
    kind may answer. `headers` and `answer_headers` are names in `app/api/openapi_headers.py`. `texts` are media types
    other than JSON that 200 may have: a CSV, a page, a stream of events.
    """

    summary: str
    answers: Answers
    body: type[Schema] | None = None
    body_optional: bool = False
    query: type[Schema] | None = None
    headers: tuple[str, ...] = ()
    answer_headers: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


def operation(summary: str, **described: Any) -> Callable[[Responder], Responder]:
    """Describe a responder with the fields of `Operation`."""
    about = Operation(summary, **described)

    def describe(responder: Responder) -> Responder:
        vars(responder)["operation"] = about
        return responder

    return describe


def operation_of(responder: object) -> Operation | None:
    return getattr(responder, "operation", None)
