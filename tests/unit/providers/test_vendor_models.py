"""A stream of an answer that can't be used counts as answered, so that its call has a cost, however late it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.chat import ToolDefinition
from app.providers import decoding
from app.providers.failures import ProviderFailure
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from app.providers.vendor_models import VendorModels

REQUEST = ModelRequest(ModelRef("OPENAI", "gpt-4o"), ModelConfig(), (), None, timeout_s=1)


def stream_of(*choices: dict[str, Any]) -> Iterator[tuple[bool, bytes]]:
    """Return the events of a stream of chat completions."""
    return ((True, f"data: {json.dumps({'choices': [choice]})}\n\n".encode()) for choice in choices)


@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_that_is_too_large_only_as_a_whole_is_answered(
    monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    monkeypatch.setattr(decoding, "ANSWER_MAX", 150)
    models = VendorModels()
    # Fewer characters than the limit, and more bytes.
    events = stream_of({"delta": {"content": "é" * 100}}, {"delta": {}, "finish_reason": "stop"})
    monkeypatch.setattr(models, "_received", lambda *_, **__: events)

    with pytest.raises(ProviderFailure, match="are the most that can be stored") as raised:
        models.stream(REQUEST, lambda _: None) if streamed else models.complete(REQUEST)

    assert raised.value.is_answered


def test_a_stream_that_breaks_off_may_be_tried_again_and_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    models = VendorModels()
    monkeypatch.setattr(models, "_received", lambda *_, **__: stream_of({"delta": {"content": "It is"}}))

    with pytest.raises(ProviderFailure, match="broke off") as raised:
        models.complete(REQUEST)

    assert (raised.value.retryable, raised.value.is_answered) == (True, False)


@pytest.mark.parametrize("depth", [990, 5_000])
def test_a_request_that_is_nested_too_deeply_is_refused_before_it_is_sent(depth: int) -> None:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    request = replace(
        REQUEST, credential=Credential("sk-test"), config=ModelConfig(tools=(ToolDefinition("a", "", schema),))
    )

    with pytest.raises(ProviderFailure, match="nested too deeply to be sent") as raised:
        VendorModels().complete(request)

    assert (raised.value.retryable, raised.value.unaccepted) == (False, True)
