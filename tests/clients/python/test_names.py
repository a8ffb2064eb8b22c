import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.xml_names import element_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Role", "role"),
        ("Rule #1: Do & Don't", "rule-1-do-don-t"),
        ("1. Роль", "_1-роль"),
        ("user_name", "user-name"),
        ("  -- A -- ", "a"),
        ("", "section"),
        ("!?…", "section"),
        ("🚀 Launch 🚀", "launch"),
        ("🚀", "section"),
        ("日本語ルール", "日本語ルール"),
        ("ー", "_ー"),
        ("٣ قواعد", "_٣-قواعد"),
        ("ÀÉÎ ẞ", "àéî-ß"),
        ("x²", "x"),
        ("𝔘nicode", "nicode"),
        ("xml: rules", "xml-rules"),
    ],
)
def test_a_title_makes_a_name(title, name):
    assert element_name(title) == name


def test_every_letter_and_digit_of_the_basic_plane_gives_a_name_that_expat_accepts():
    characters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    names = {element_name(title) for char in characters for title in (char, f"a{char}b")}
    ET.fromstring(f"<r>{''.join(f'<{name}/>' for name in names)}</r>")
    assert len(names) > 60_000


def test_no_letter_that_expat_accepts_is_lost():
    characters = [chr(code) for code in range(0x80, 0x10000) if chr(code).isalnum()]
    lost = [char for char in characters if char.lower() == char and element_name(f"a{char}b") == "a-b"]
    assert not [char for char in lost if _is_name(f"a{char}b")]


@given(st.text())
def test_any_title_makes_a_legal_name(title):
    assert _is_name(element_name(title))


def _is_name(name: str) -> bool:
    try:
        return ET.fromstring(f"<{name}/>").tag == name
    except ET.ParseError:
        return False
