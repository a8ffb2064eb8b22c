"""The choice between two models, the time that each gets, and the message of a failure."""

from dataclasses import replace

import pytest

from app.chat import Answer, Message, StreamEvent
from app.errors import Invalid, ProviderError, ProviderTimeout
from app.services.runs.execution import CandidateModel, RunCall, RunCaller
from tests.unit.services.contents import MODEL

FIRST, SECOND = CandidateModel(MODEL, None), CandidateModel(replace(MODEL, id=2, name="second"), None)
TEN_S = 10.0


class Models:
    """Answers, or fails, with what is scripted, in turn; each call lasts `takes_s`."""

    def __init__(self, *script, takes_s=1.0):
        self.script, self.takes_s = list(script), takes_s
        self.now = 0.0
        self.asked = []

    def complete(self, request):
        self.asked.append((request.model.name, request.timeout_s))
        self.now += self.takes_s
        outcome = self.script.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return Answer(outcome)

    def stream(self, request, on_event):
        on_event(StreamEvent("token", "said "))
        return self.complete(request)


def call(models, second=SECOND, first=FIRST, on_event=None):
    caller = RunCaller(providers=models, timeout_s=TEN_S, monotonic=lambda: models.now)
    return caller.call(RunCall(first, second, {}, (Message("user", "q"),)), on_event)


def test_without_a_second_model_the_first_has_all_the_time():
    models = Models("fine")

    assert call(models, second=None).answer.text == "fine"
    assert models.asked == [("m", TEN_S)]


def test_the_first_leaves_time_and_the_second_gets_what_is_left():
    models = Models(ProviderTimeout("slow"), "fine", takes_s=3.0)
    answered = call(models)

    assert models.asked == [("m", TEN_S / 2), ("second", TEN_S - 3.0)]
    assert (answered.model.name, answered.first_error) == ("second", "m: slow")


def test_when_no_time_is_left_the_second_is_not_asked():
    models = Models(ProviderTimeout("slow"), takes_s=TEN_S)
    with pytest.raises(ProviderTimeout, match="slow"):
        call(models)


@pytest.mark.parametrize(("last", "kind"), [(ProviderError, ProviderError), (ProviderTimeout, ProviderTimeout)])
def test_when_both_fail_the_kind_is_the_last_ones_and_the_words_are_of_both(last, kind):
    with pytest.raises(kind, match=r"second: two \(before it, m: one\)"):
        call(Models(ProviderError("one"), last("two")))


def test_what_the_caller_can_mend_is_not_tried_elsewhere():
    models = Models(Invalid("wrong"))
    with pytest.raises(Invalid):
        call(models)
    assert len(models.asked) == 1


def test_a_second_model_that_cannot_accept_the_request_hides_nothing():
    with pytest.raises(ProviderError, match="one"):
        call(Models(ProviderError("one"), Invalid("can't read image/png")))


def test_a_first_model_without_a_credential_is_passed_over():
    models = Models("fine")
    refused = replace(FIRST, refused=ProviderError("There is no credential."))

    assert call(models, first=refused).model.name == "second"


def test_words_that_were_sent_are_not_sent_again_by_another_model():
    heard = []
    models = Models(ProviderError("cut"), "never")
    with pytest.raises(ProviderError, match="cut"):
        call(models, on_event=heard.append)
    assert len(heard) == 1
    assert len(models.asked) == 1
