from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.values.json import count_marks

VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


def elements(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(elements, members))


@given(VALUES)
def test_json_has_at_most_one_element_more_than_brackets_and_commas(value: Any) -> None:
    text = json.dumps(value)

    assert elements(value) <= count_marks(text) + 1
    assert count_marks(text.encode()) == count_marks(text)
