"""JSON values survive YAML, whatever they hold; only what JSON has is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from reprise_client.prompt_files.front_matter import BadYaml, read, write

# Words that some reader of YAML does not read as text, signs of YAML, and texts of several lines.
WORDS = ["no", "NO", "on", "y", "null", "~", "", "010", "0x1F", "1e3", "1_000", "12:30", "2026-01-01", ".inf", "True"]
SIGNS = ["<<", "=", "---", "...", "- a", "a: b", "a #b", "#", "'", '"', "&a", "*a", "!!int 1", "%", "@", "`", "|", "\\"]
LINES = [
    " a",
    "a ",
    "\n",
    "a\n",
    "a\n\n",
    "\na",
    "a\n b",
    " a\nb",
    "a \nb",
    "a\r\nb",
    "a\tb\n",
    "\t",
    "a\n---\nb",
    "é\n",
]
OTHERS = ["😀\n😀", "\x85", "a\u2028b", "\ufeff", "a\n\ufeffb", "\x00", "\x7f", "{{a}}\n{{b}}", "a b " * 100]
TRICKY = st.sampled_from(WORDS) | st.sampled_from(SIGNS) | st.sampled_from(LINES) | st.sampled_from(OTHERS)
TEXTS = TRICKY | st.text() | st.text(st.sampled_from("a \n\t#:-{}'\"\r"))
NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)


@given(OBJECTS)
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    assert read(write(value)).value == value


@given(OBJECTS)
def test_key_order_is_kept_and_equal_values_give_equal_bytes(value: dict[str, Any]) -> None:
    written = write(value)

    assert json.dumps(list(read(written).value)) == json.dumps(list(value))
    assert write(read(written).value) == written


@given(OBJECTS)
def test_a_reader_of_yaml_1_1_reads_the_same_values(value: dict[str, Any]) -> None:
    floats_as_written = json.loads(json.dumps(value), parse_float=lambda _: None)
    read_elsewhere = json.loads(json.dumps(yaml.safe_load(write(floats_as_written))))

    assert read_elsewhere == floats_as_written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("Yes", "Yes"),
        ("010", "010"),
        ("0o17", "0o17"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("True", "True"),
        ("1.0", 1),
        ("-0.5e-3", -0.0005),
        ("true", True),
        ("null", None),
        ("", None),
        ("'null'", "null"),
        ("[no, 1, {a: b}]", ["no", 1, {"a": "b"}]),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">\n  a\n  b\n", "a b\n"),
    ],
)
def test_plain_words_are_text_unless_json_has_them(text: str, value: Any) -> None:
    found = read(f"a: {text}").value["a"]

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: *x", 2, "Aliases"),
        ("a: &x 1", 1, "Anchors"),
        ("a: !!python/object:os.system {}", 1, "tags"),
        ("a: !x 1", 1, "tags"),
        ("a: 1\nb: 2\na: 3", 3, "'a' is there twice"),
        ("? [a]\n: b", 1, "key must be text"),
        ("a: 1\n...\n---\nb: 2", 3, "second document"),
        ("a: 1\n b: 2", 2, "Is not YAML"),
        ("a: 1\nb: \x07", 2, "forbids"),
        ("a: " + "[" * 100_000, 1, "100 levels"),
        ("a:\n" + "".join(" " * depth + "-\n" for depth in range(200)), 101, "100 levels"),
        ("a: 1e999", 1, "too large"),
        ("a: " + "9" * 5000, 1, "too large"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadYaml, match=words) as refused:
        read(text)
    assert refused.value.line == line


def test_each_key_and_item_has_its_line() -> None:
    assert read("a:\n- b: 1\n- [x,\n   y]\nc: d").lines == {
        "$.a": 1,
        "$.a[0]": 2,
        "$.a[0].b": 2,
        "$.a[1]": 3,
        "$.a[1][0]": 3,
        "$.a[1][1]": 4,
        "$.c": 5,
    }


@given(st.text())
def test_any_text_is_read_or_refused_with_a_line_that_it_has(text: str) -> None:
    try:
        read(text)
    except BadYaml as error:
        line = error.line
    else:
        line = 1
    assert 1 <= line <= len(text.splitlines()) + 1


def test_what_is_kept_of_a_file_does_not_grow_with_the_length_of_a_key_times_its_values() -> None:
    parsed = read(f"? {'k' * 10_000}\n: [{'1, ' * 1_000}1]\nshort: [1]\n")

    assert sum(map(len, parsed.lines)) < 10_000
    assert parsed.lines["$.short[0]"] == 3
