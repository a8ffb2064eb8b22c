"""The budget of masking counts the time of a processor, which the core does not know."""

from __future__ import annotations

import time

from app.otlp.masking import Masking
from app.services.masking.rules import MessageMasking, new_budget


def test_the_budget_of_a_batch_and_that_of_a_run_count_the_time_of_their_thread() -> None:
    assert new_budget().clock is time.thread_time
    assert MessageMasking(Masking([])).budget.clock is time.thread_time
