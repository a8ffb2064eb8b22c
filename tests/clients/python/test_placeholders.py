from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.placeholders import fill, keys_in

from app.rendering.render import Placeholder, PlaceholderValue

TONE = Placeholder(
    "tone", (PlaceholderValue("formal", "Be formal."), PlaceholderValue("warm", "Be warm.", is_default=True))
)
AUDIENCE = Placeholder("audience", (PlaceholderValue("experts", "experts"),))

pieces = st.lists(st.sampled_from(["{{a}}", "{{b}}", "{{c}}", "{{", "}}", "{", "}", "a", " ", "{{ a }}", "\n"])).map(
    "".join
)
names = st.sampled_from(["x", "y", "z"])
placeholders = st.lists(
    st.builds(
        Placeholder,
        st.sampled_from(["a", "b"]),
        st.lists(
            st.builds(PlaceholderValue, names, pieces), min_size=1, max_size=3, unique_by=lambda value: value.name
        ).map(tuple),
    ),
    unique_by=lambda placeholder: placeholder.key,
)


def test_a_selected_value_is_filled_in():
    filled = fill("{{tone}}", [TONE], {"tone": "formal"})
    assert (filled.instruction, filled.resolved, filled.ignored) == ("Be formal.", {"tone": "formal"}, [])


def test_without_a_selection_the_default_is_filled_in():
    assert fill("{{tone}}", [TONE], {}).instruction == "Be warm."


def test_an_unknown_value_name_is_ignored_and_the_default_used():
    filled = fill("{{tone}}", [TONE], {"tone": "rude"})
    assert (filled.instruction, filled.resolved, filled.ignored) == ("Be warm.", {"tone": "warm"}, ["tone"])


def test_without_a_default_nothing_is_filled_in_and_resolved_has_it():
    filled = fill("to {{audience}}.", [AUDIENCE], {})
    assert (filled.instruction, filled.resolved, filled.ignored) == ("to .", {"audience": None}, [])


def test_an_unknown_value_name_without_a_default_is_ignored_too():
    filled = fill("{{audience}}", [AUDIENCE], {"audience": "children"})
    assert (filled.instruction, filled.resolved, filled.ignored) == ("", {"audience": None}, ["audience"])


def test_a_selection_for_a_key_that_is_not_in_the_text_is_ignored():
    filled = fill("plain", [TONE], {"tone": "warm", "nowhere": "x"})
    assert (filled.resolved, filled.ignored) == ({}, ["tone", "nowhere"])


def test_a_key_that_nothing_defines_stays_and_is_listed_and_its_selection_ignored():
    filled = fill("{{who}} {{tone}} {{who}}", [TONE], {"who": "x"})
    assert filled.instruction == "{{who}} Be warm. {{who}}"
    assert (filled.undefined, filled.ignored) == (["who"], ["who"])


def test_ignored_keys_are_in_the_order_sent():
    assert fill("{{b}}", [], {"z": "1", "b": "2", "a": "3"}).ignored == ["z", "b", "a"]


def test_resolved_keys_are_in_the_order_of_first_appearance():
    filled = fill("{{tone}}{{audience}}{{tone}}", [AUDIENCE, TONE], {})
    assert list(filled.resolved) == ["tone", "audience"]


def test_braces_inside_a_value_stay_literal():
    quoting = Placeholder("q", (PlaceholderValue("v", r"{{tone}} \1 {{q}}", is_default=True),))
    filled = fill("{{q}}", [quoting, TONE], {"tone": "warm"})
    assert filled.instruction == r"{{tone}} \1 {{q}}"
    assert (filled.resolved, filled.ignored) == ({"q": "v"}, ["tone"])


def test_two_values_do_not_make_a_placeholder_between_them():
    left = Placeholder("l", (PlaceholderValue("v", "{{to", is_default=True),))
    right = Placeholder("r", (PlaceholderValue("v", "ne}}", is_default=True),))
    assert fill("{{l}}{{r}}", [left, right, TONE], {}).instruction == "{{tone}}"


def test_keys_are_ascii_letters_digits_and_underscores_up_to_64_without_spaces():
    longest = "k" * 64
    text = (
        f"{{{{{longest}}}}} {{{{{longest}k}}}} {{{{ tone }}}} {{{{}}}} {{{{ключ}}}} {{{{٣}}}} {{{{a-b}}}} {{{{a\n}}}}"
    )
    assert keys_in(text) == [longest]


def test_a_third_brace_is_text():
    assert fill("{{{tone}}}", [TONE], {}).instruction == "{Be warm.}"


@given(pieces, placeholders, st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), names))
def test_every_key_is_accounted_for_once(text, definitions, selections):
    filled = fill(text, definitions, selections)
    assert sorted([*filled.resolved, *filled.undefined]) == sorted(keys_in(text))
    applied = {key for key, name in selections.items() if filled.resolved.get(key) == name}
    assert [*filled.ignored] == [key for key in selections if key not in applied]


@given(pieces, st.lists(st.builds(Placeholder, st.sampled_from(["a", "b"]), st.just(())), max_size=2))
def test_what_is_not_a_defined_key_is_untouched(text, definitions):
    expected = text
    for placeholder in definitions:
        expected = expected.replace(f"{{{{{placeholder.key}}}}}", "\0")
    assert fill(text, definitions, {}).instruction == expected.replace("\0", "")
