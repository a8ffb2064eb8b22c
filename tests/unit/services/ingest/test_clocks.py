"""A clock that is behind keeps its delay; a sender that was cut off catches up. Both, and clocks ahead, are noticed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from app.otlp.span import Span
from app.services.ingest.clocks import BATCHES, QUIET_S, SENDERS_MAX, WATCHED_S, ClockWatch

HOUR = 3600.0
BEGIN = datetime(2026, 11, 27, tzinfo=UTC)
STEP_S = WATCHED_S / (BATCHES - 1)


@dataclass
class Clock:
    """The time of the server, and batches of a sender with another clock."""

    now: datetime = BEGIN
    watch: ClockWatch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = ClockWatch(now=lambda: self.now)

    def receive(self, delay_s: float, *, project_id: int = 1, scope: str = "app", after_s: float = STEP_S) -> list[str]:
        """The codes of the warnings about a batch that arrives `after_s` after the last one."""
        self.now += timedelta(seconds=after_s)
        end_ns = int((self.now.timestamp() - delay_s) * 10**9)
        span = Span(
            trace_id=b"t" * 16,
            span_id=b"s" * 8,
            parent_span_id=None,
            name="chat",
            scope=scope,
            start_ns=end_ns - 1,
            end_ns=end_ns,
            prompt_id=7,
            conversation_id=None,
            raw=memoryview(b""),
            attributes={},
            failed=False,
        )
        return [row.code for row in self.watch.warnings(project_id, [span])]

    def receive_all(self, delays: Iterable[float]) -> list[str]:
        return [code for delay_s in delays for code in self.receive(delay_s)]


def test_a_delay_that_stays_the_same_is_a_clock_that_is_behind() -> None:
    assert Clock().receive_all(2 * HOUR + second for second in range(BATCHES)) == ["clock_behind"]


@pytest.mark.parametrize(
    "delays",
    [
        [2 * HOUR - 400 * number for number in range(20)],
        [2 * HOUR, 1.0] * 10,
        [2 * HOUR + 90 * number for number in range(20)],
        [HOUR / 2] * 20,
        [2 * HOUR] * (BATCHES - 1),
    ],
    ids=["catches up", "some batches are late", "sends the same spans again", "less than an hour", "few batches"],
)
def test_late_batches_are_no_wrong_clock(delays: list[float]) -> None:
    assert Clock().receive_all(delays) == []


def test_many_late_batches_within_a_moment_are_no_wrong_clock() -> None:
    clock = Clock()
    assert [code for _ in range(100) for code in clock.receive(2 * HOUR, after_s=1)] == []


def test_another_program_with_a_right_clock_changes_nothing() -> None:
    clock = Clock()
    both = [code for _ in range(BATCHES) for code in (*clock.receive(2 * HOUR), *clock.receive(1, scope="other"))]
    assert both == ["clock_behind"]


def test_spans_from_the_future_are_noticed_at_once_and_again_after_an_hour() -> None:
    clock = Clock()
    codes = [clock.receive(-2 * HOUR, after_s=seconds) for seconds in (1, 1, QUIET_S)]
    assert codes == [["clock_ahead"], [], ["clock_ahead"]]


def test_a_batch_without_spans_has_no_clock() -> None:
    assert Clock().watch.warnings(1, []) == []


def test_the_senders_that_a_process_knows_are_bounded() -> None:
    clock = Clock()
    for number in range(SENDERS_MAX + 10):
        clock.receive(2 * HOUR, scope=str(number))
        clock.receive(-2 * HOUR, scope=str(number))
    assert (len(clock.watch._delays), len(clock.watch._warned)) == (0, SENDERS_MAX)
    for number in range(SENDERS_MAX + 10):
        clock.receive(2 * HOUR, scope=str(number))
    assert len(clock.watch._delays) == SENDERS_MAX
