"""The fake upstream, and every vendor's models on it, asked for whole answers and for streamed ones."""

from contextlib import closing

import pytest

from app.providers.router import Providers, Retry
from app.providers.vendor_models import VendorModels
from tests.fakes.models import VENDORS


@pytest.fixture(params=VENDORS)
def vendor(request):
    return request.param


@pytest.fixture(scope="package")
def models():
    with closing(VendorModels()) as models:
        yield models


@pytest.fixture
def pauses():
    """The seconds that retries would have waited."""
    return []


@pytest.fixture
def providers(models, pauses):
    return Providers(remote=models, retry=Retry(sleep=pauses.append, uniform=lambda low, high: high))


@pytest.fixture(params=["whole", "streamed"])
def ask(request, providers):
    """Call a model whole or streamed; a streamed answer is also built from its events and compared."""
    if request.param == "whole":
        return providers.complete

    def streamed(model_request):
        events = []
        answer = providers.stream(model_request, events.append)
        said = {"token": "", "reasoning": ""}
        calls = [event.tool_call for event in events if event.kind == "tool_call"]
        for event in events:
            if event.kind != "tool_call":
                said[event.kind] += event.text
        assert said == {"token": answer.text, "reasoning": answer.reasoning or ""}
        assert calls == list(answer.tool_calls)
        return answer

    return streamed
