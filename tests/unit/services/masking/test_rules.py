"""The budget of masking counts the time of a processor, and what was cut is masked whole."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from app.otlp.masking import MASK, Masking, Rule
from app.otlp.span import Rejection, shown
from app.providers.failures import no_json, refused
from app.services.masking.rules import MessageMasking, masked_rejection, new_budget

SECRET = Masking([Rule("pattern", "sk-[0-9]{12}")])


def test_the_budget_of_a_batch_and_that_of_a_run_count_the_time_of_their_thread() -> None:
    assert new_budget().clock is time.thread_time
    assert MessageMasking(Masking([])).budget.clock is time.thread_time


def test_a_reason_that_quotes_the_beginning_of_a_secret_is_masked_whole() -> None:
    quoted = shown("x" * 90 + "sk-123456789012")
    rejection = Rejection("aa" * 16, "bb" * 8, "name", "bad_prompt_id", f"an integer, not {quoted}")
    assert masked_rejection(rejection, SECRET).reason == MASK
    assert masked_rejection(rejection, Masking([])).reason == rejection.reason


def test_the_words_of_a_vendor_that_were_cut_within_a_secret_are_masked_whole() -> None:
    failures = (
        no_json("OPENAI", None, "x" * 190 + "sk-123456789012"),
        refused("OPENAI", None, datetime(2026, 1, 1, tzinfo=UTC), 400, {}, b"x" * 1_960 + b"sk-123456789012 and more"),
    )
    for failure in failures:
        assert "sk-1234" in str(failure)
        assert MessageMasking(SECRET).error(str(failure)) == MASK
        assert MessageMasking(Masking([])).error(str(failure)) == str(failure)
    assert MessageMasking(SECRET).error("no key sk-123456789012 here") == f"no key {MASK} here"
    assert MessageMasking(SECRET).error(None) is None
