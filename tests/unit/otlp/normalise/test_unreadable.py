"""Every span can be read: no convention breaks on it, and if one did, the others would be asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.otlp.normalise import CONVENTIONS, SpanView, ToolUse
from app.otlp.normalise.convention import Convention
from app.otlp.normalise.messages import Messages
from app.otlp.normalise.readers import Readers
from tests.support.normalized_spans import normal

pytestmark = pytest.mark.slow

QUESTIONS = [name for name, value in vars(Convention).items() if not name.startswith("_") and callable(value)]
MARKERS = sorted({marker for convention in CONVENTIONS for marker in convention.markers})
# What conventions look into, so that what is drawn gets past their first look.
WORDS = [
    *("role", "content", "parts", "type", "text", "message", "messages", "tool_calls", "function", "arguments", "name"),
    *("tools", "input", "output", "result", "kwargs", "args", "usage", "response", "raw_output", "tool_name", "config"),
    *("function_call", "functionCall", "toolUse", "toolRequest", "summary", "id", "status", "data", "input_str"),
]
WRITTEN = ["", "{", "[{}]", "{'a': 1}", "{{'a': 1}}", "content='1' name='t' tool_call_id='c'", "9" * 5000, "\0"]
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS + WRITTEN))
values = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)),
    max_leaves=12,
)
names = st.sampled_from(["chat", "call_llm", "execute_tool ", "x.tool"])


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda convention: convention.name)
@given(names, st.data())
def test_no_convention_breaks_on_a_span(convention: Convention, name: str, data: st.DataObject) -> None:
    keys = st.sampled_from(sorted(convention.markers) or MARKERS)
    attributes = data.draw(st.dictionaries(keys, st.one_of(values, values.map(json.dumps)), max_size=4))
    span = SpanView(name, "scope", attributes, lambda: [("gen_ai.choice", dict(attributes))])

    for question in QUESTIONS:
        getattr(convention, question)(span)


class Broken(Convention):
    """Was not written for what it reads."""

    markers = frozenset({"gen_ai.operation.name"})

    def input_messages(self, span: SpanView) -> Messages | None:
        raise RecursionError

    def tool(self, span: SpanView) -> ToolUse | None:
        raise KeyError("arguments")


def test_where_one_convention_breaks_the_others_are_asked() -> None:
    attributes: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}
    span = normal(attributes | {"gen_ai.input.messages": [{"role": "user", "content": "Hi"}]})
    span._readers = Readers([Broken(), *CONVENTIONS], frozenset(span.span.attributes))

    assert span.tool.name == "get_weather"
    assert [message.text for message in span.input_messages or ()] == ["Hi"]
