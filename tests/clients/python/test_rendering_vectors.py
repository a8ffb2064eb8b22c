"""Prompts that the Python client renders as the server does."""

from __future__ import annotations

from typing import Any

import pytest
from reprise_client.rendering import render

from tests.support.vectors import VECTORS, about, results


@pytest.mark.parametrize("vector", VECTORS, ids=about)
def test_a_prompt_is_rendered(vector: dict[str, Any]) -> None:
    made = render(vector["text"], vector["format"], vector["definitions"], vector["selections"])

    assert [made.instruction, list(made.resolved.items()), made.ignored, made.undefined] == results(vector)
