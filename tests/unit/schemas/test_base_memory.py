"""What was sent is not in memory after its refusal."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from marshmallow import fields

from app.errors import Invalid
from app.schemas.base import StrictSchema, Text, load


class Inner(StrictSchema):
    text = Text(maximum=3)


class Outer(StrictSchema):
    inner = fields.Nested(Inner)


class Sent(dict[str, Any]):
    """An object in JSON that weak references can refer to."""


def refused(value: Any) -> bool:
    try:
        load(Outer(), value)
    except Invalid:
        return True
    return False


def test_a_refused_body_is_not_in_memory_until_garbage_is_collected() -> None:
    gc.disable()
    try:
        inner = Sent(text="long")
        outer = Sent(inner=inner, unknown=1)
        left = [weakref.ref(inner), weakref.ref(outer)]
        assert refused(outer)
        del inner, outer
        assert [reference() for reference in left] == [None, None]
    finally:
        gc.enable()
