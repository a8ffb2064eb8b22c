"""Arguments that libraries record as the Python text of a dict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.otlp.normalise.toolio import out_of_call, out_of_response, recorded_arguments, result_in_block

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.text(), st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, min_size=1, max_size=3))
def test_the_text_of_a_dict_is_read(arguments: dict[str, Any]) -> None:
    if arguments.keys() != {"kwargs"}:
        assert recorded_arguments(repr(arguments)) == arguments


@pytest.mark.parametrize("code", ["a<a", "1+1", "f(1)", "a.b", "[1][0]", "'a' 'b'", "{**{}}", "'\\d'", "lambda: 0"])
def test_code_that_is_no_literal_stays_a_text(code: str) -> None:
    for text in (f"{{'a': {code}}}", f"{{{code}}}"):
        assert recorded_arguments(text) == text


def test_the_text_of_a_dict_with_many_members_is_read() -> None:
    many = {"a": list(range(50_000))}
    assert recorded_arguments(repr(many)) == many


@pytest.mark.parametrize("options", [None, {"retries": 1}])
def test_the_input_of_beeai_s_tools_is_their_arguments(options: Any) -> None:
    assert recorded_arguments({"input": {"order_id": "1042"}, "options": options}) == {"order_id": "1042"}


def test_an_input_that_is_no_object_stays_an_argument() -> None:
    assert recorded_arguments({"input": "a", "options": None}) == {"input": "a", "options": None}


@pytest.mark.parametrize("key", ["arguments", "args", "parameters"])
@pytest.mark.parametrize("more", [{}, {"description": "W"}, {"callId": "c1", "isClientInitiated": False}])
def test_a_whole_call_has_the_arguments_in_it(key: str, more: dict[str, Any]) -> None:
    asked = {"name": "look", key: {"a": 1}, **more}

    assert out_of_call(asked, "look") == {"a": 1}
    assert out_of_call(asked, "other") == asked
    assert out_of_call(asked | {"city": "Oslo"}, "look") == asked | {"city": "Oslo"}


def test_an_argument_with_the_name_of_the_tool_stays() -> None:
    assert out_of_call({"name": "look", "arguments": "all"}, "look") == {"name": "look", "arguments": "all"}


def test_a_whole_answer_has_the_response_in_it() -> None:
    assert out_of_response({"id": "c1", "name": "look", "response": {"b": 2}}, "look") == {"b": 2}
    assert out_of_response({"name": "look", "response": 1, "pages": 2}, "look") == {
        "name": "look",
        "response": 1,
        "pages": 2,
    }


def test_a_tool_s_message_has_the_result_as_its_content() -> None:
    assert result_in_block({"role": "tool", "content": '{"b": 2}', "tool_call_id": "c1"}) == {"b": 2}
    assert result_in_block({"role": "tool", "content": "2"}) == {"role": "tool", "content": "2"}
