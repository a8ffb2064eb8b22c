"""Signs that a session went wrong, in the order of its turns."""

from __future__ import annotations

from typing import Any

from app.models.scores import ScoreRow
from app.services.replays.mistake_signs import SHOWN_MAX, SIGNS_MAX, MistakeSign, mistake_signs
from app.services.sessions.service import Session
from app.sessions.types import ShownSpan, Step, Turn

TRACE, SPAN = b"\1" * 16, b"\2" * 8


def score(value: float | None, **fields: Any) -> ScoreRow:
    known = dict.fromkeys(("score_id", "session_key", "trace_id", "span_id", "run_id", "label", "comment"))
    return ScoreRow(
        **{**known, "digest": b"", "time_ns": 0, "name": "helpful", "source": "api", "value": value} | fields
    )


def signs(*scores: ScoreRow, steps: tuple[Step, ...] = (), spans: tuple[ShownSpan, ...] = ()) -> list[MistakeSign]:
    return mistake_signs(Session("s", 1, None, (Turn(TRACE.hex(), 0, 1, "Hi", steps, spans=spans),), scores))


def test_low_scores_are_signs_where_they_were_given_and_others_are_not() -> None:
    answer = Step("answer", SPAN.hex(), text="No.")
    low = score(0.0, label="false", trace_id=TRACE, span_id=SPAN)

    assert signs(
        low, score(0.5), score(None), score(0.49), score(0.0, name="thumbs", label="false"), steps=(answer,)
    ) == [
        MistakeSign("low_score", None, None, "The score helpful is 0.49"),
        MistakeSign("low_score", None, None, "The score thumbs is bad"),
        MistakeSign("low_score", 0, 0, "The score helpful is false"),
    ]


def test_a_failed_online_check_is_a_sign_with_its_reason() -> None:
    failed = score(0.0, name="polite", source="check", trace_id=TRACE, comment="It is rude.")

    assert signs(failed) == [MistakeSign("failed_check", 0, None, "The online check polite failed: It is rude.")]


def test_a_score_of_a_turn_that_is_left_out_is_no_sign() -> None:
    assert signs(score(0.0, trace_id=b"\3" * 16)) == []


def test_errors_of_tools_and_model_calls_are_signs_once_and_cut() -> None:
    refund = Step("tool_call", SPAN.hex(), "refund", error="x" * 500)
    tool = ShownSpan(SPAN.hex(), None, "execute_tool refund", "execute_tool", 0, 1, "x", {}, convention="gen_ai")
    chat = ShownSpan("03", None, "chat gpt", "chat", 0, 1, "overloaded", {}, convention="gen_ai")

    model, call = signs(steps=(refund,), spans=(tool, chat))

    assert model == MistakeSign("error", 0, None, "chat gpt failed: overloaded")
    assert (call.step, len(call.message)) == (0, SHOWN_MAX + len("refund failed: "))


def test_signs_are_limited() -> None:
    assert len(signs(*[score(0.0)] * (SIGNS_MAX + 1))) == SIGNS_MAX
