"""Text and JSON from outside, in the form that databases and JSON writers accept."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.storable import decode_json, storable_text

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("any ä \x01 \U0001f600", "any ä \x01 \U0001f600"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83d b\ude00", "a\ufffd b\ufffd"),
        ("\ud83d", "\ufffd"),
        ("a\0b", "a\ufffdb"),
    ],
)
def test_text_is_kept_except_what_no_database_accepts(text, kept):
    assert storable_text(text) == kept


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, true, null, "x"]}', {"a": [1, 2.5, True, None, "x"]}),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), str(2**64)),
        (str(-(2**63)), -(2**63)),
        (str(-(2**63) - 1), str(-(2**63) - 1)),
        ("9" * 5000, "9" * 5000),
        ("-1e999", "-1e999"),
        (r'{"\ud800": "\u0000"}', {"\ufffd": "\ufffd"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[" * 64 + "]" * 64, eval("[" * 64 + "]" * 64)),
    ],
)
def test_json_is_kept_except_what_no_column_accepts(text, value):
    assert decode_json(text) == value


@pytest.mark.parametrize(
    "text", ["", "{", "\ufeff1", "NaN", "[Infinity]", "[" * 65 + "]" * 65, '{"a":' * 5000 + "1" + "}" * 5000]
)
def test_what_is_no_json_or_nests_too_deeply_is_refused(text):
    with pytest.raises(ValueError):
        decode_json(text)


@pytest.mark.slow
@given(JSON)
def test_what_is_decoded_can_be_written_and_stays_what_it_is(value):
    try:
        decoded = decode_json(json.dumps(value))
    except ValueError:
        return
    assert orjson.loads(orjson.dumps(decoded)) == decoded
    assert decode_json(orjson.dumps(decoded).decode()) == decoded
