from hypothesis import given
from hypothesis import strategies as st

from app.rendering.render import Placeholder, PlaceholderValue, render

RULES = Placeholder("rules", (PlaceholderValue("strict", "# Rules\n- a < b", is_default=True),))


def test_placeholders_are_filled_before_headings_become_elements():
    rendered = render("{{rules}}\n{{who}}", "XML", [RULES], {"who": "x"})
    assert rendered.instruction == "<instructions>\n<rules>\n- a &lt; b\n{{who}}\n</rules>\n</instructions>"
    assert (rendered.resolved, rendered.ignored, rendered.undefined) == ({"rules": "strict"}, ["who"], ["who"])


def test_a_value_that_opens_a_fence_hides_the_headings_after_it():
    opening = Placeholder("o", (PlaceholderValue("v", "```", is_default=True),))
    assert render("{{o}}\n# A", "XML", [opening], {}).instruction == "<instructions>\n```\n# A\n</instructions>"


def test_raw_is_the_filled_text():
    assert render("{{rules}}\r\n\n---\n\x00", "RAW", [RULES], {}).instruction == "# Rules\n- a < b\r\n\n---\n\x00"


@given(st.text())
def test_raw_without_definitions_is_the_text_itself(text):
    assert render(text, "RAW", [], {}).instruction == text
