from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import Answer, Message, Tokens
from app.errors import ProviderError
from app.replay.judge import ModelJudge
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepEvidence, TurnJudgement
from tests.unit.replay.fakes import FakeModel, says, scripted


def judge_of(model: FakeModel, *nonces: str) -> ModelJudge:
    drawn = iter(nonces or ("n0nce",) * 9)
    return ModelJudge(model, lambda: next(drawn), "gpt")


def step(
    recorded: str = "It costs 5 EUR.",
    produced: str = "It costs 6 EUR.",
    n: int = 0,
    evidence: StepEvidence | None = None,
) -> OpenStep:
    return OpenStep(n, "answer", None, recorded, produced, evidence or StepEvidence())


def turn_of(*steps: OpenStep, **more: Any) -> JudgedTurn:
    context = {"instruction": "Be brief.", "conversation": (), "user": "What is the price?", "calls": ()} | more
    return JudgedTurn(steps=steps, **context)


def finding(**more: Any) -> dict[str, Any]:
    return {
        "kind": "contradicts",
        "recorded": "5 EUR",
        "produced": "6 EUR",
        "matters": True,
        "why": "The price differs.",
    } | more


def reply(verdict: str, *findings: dict[str, Any], n: int = 0) -> dict[str, Any]:
    return {"step": n, "findings": list(findings), "verdict": verdict}


def replied(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": steps})


def judged(text: str, *steps: OpenStep) -> TurnJudgement:
    return judge_of(scripted(says(text))).judge_turn(turn_of(*(steps or (step(),))))


def test_a_failed_step_has_the_findings_and_their_reasons() -> None:
    judgement = judged(replied(reply("failed", finding())))

    (decided,) = judgement.steps
    assert (decided.verdict, decided.reason) == ("failed", "The price differs.")
    assert (decided.findings[0].recorded, decided.findings[0].produced) == ("5 EUR", "6 EUR")
    assert judgement.tokens == Tokens(10, 2)


def test_all_open_steps_of_a_turn_are_one_question() -> None:
    model = scripted(says(replied(reply("passed", n=2), reply("failed", finding(), n=4))))
    steps = step(n=2), step(n=4)

    decided = judge_of(model).judge_turn(turn_of(*steps)).steps

    assert [(each.step, each.verdict) for each in decided] == [(2, "passed"), (4, "failed")]
    assert len(model.asked) == 1


def test_each_part_of_the_question_is_between_delimiters() -> None:
    model = scripted(says(replied(reply("passed"))))
    past = Message("user", "Hello"), Message("assistant", "Hi")
    call = JudgedCall("get_price", {"item": "tea"}, "6")
    open_step = OpenStep(0, "arguments", "get_price", "R", "P", StepEvidence(differences=("order differs",)), "A")

    judge_of(model).judge_turn(turn_of(open_step, conversation=past, calls=(call,)))

    instruction, messages, _ = model.asked[0]
    assert instruction.startswith("You judge")
    assert "[begin NAME n0nce]" in instruction
    for name, text in {
        "instruction": "Be brief.",
        "conversation": "user: Hello\n\nassistant: Hi",
        "user": "What is the price?",
        "calls": 'get_price was called with {"item": "tea"}\nand answered: 6',
        "recorded 0": "R",
        "produced 0": "P",
        "evidence 0": "The texts are the arguments of a call of get_price.\nDifferences: order differs",
        "assertion 0": "A",
    }.items():
        assert f"[begin {name} n0nce]\n{text}\n[end {name} n0nce]" in messages[0].text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It is fine.", "gave no verdict: It is fine."),
        ("[]", "gave no verdict: []"),
        ('{"steps": {}}', "gave no verdict"),
        ('{"steps": [], "steps": []}', "gave no verdict"),
        ('{"steps": []}', "gave no verdict on this step"),
        (replied(reply("passed", n=7)), "a step that it was not asked about"),
        (replied(reply("passed"), reply("passed")), "gave two verdicts on step 0"),
        (replied({"step": 0, "verdict": "passed"}), "findings that can't be read"),
        (replied(reply("passed", {"kind": "missing"})), "findings that can't be read"),
        (replied(reply("failed", finding(kind="ugly"))), "findings that can't be read"),
        (replied(reply("perfect")), "gave no verdict on this step"),
        (replied(reply("failed", finding(produced="7 EUR"))), "quoted what is not in the text: 7 EUR"),
        (replied(reply("failed", finding(recorded="6 EUR"))), "quoted what is not in the text: 6 EUR"),
        (replied(reply("unsure", finding(matters=False))), "is unsure: The price differs."),
        (replied(reply("passed", finding())), "passed the step although: The price differs."),
        (replied(reply("failed")), "failed the step without a reason"),
        (replied(reply("passed", *[finding(matters=False)] * 21)), "more than 20 findings"),
    ],
)
def test_a_reply_that_is_not_as_wanted_needs_review(text: str, reason: str) -> None:
    (decided,) = judged(text).steps

    assert decided.verdict == "needs_review"
    assert reason in decided.reason


def test_a_missing_step_needs_review_and_the_others_are_decided() -> None:
    decided = judged(replied(reply("passed", n=1)), step(n=1), step(n=2)).steps

    assert [each.verdict for each in decided] == ["passed", "needs_review"]


def test_a_quote_may_have_other_white_space_and_another_form_of_its_characters() -> None:
    open_step = step("Im Cafe\u0301\nist es  warm.", "Kalt.")
    quoted = finding(recorded="Im Caf\u00e9 ist es warm.", produced="Kalt")

    assert judged(replied(reply("failed", quoted)), open_step).steps[0].verdict == "failed"


@pytest.mark.parametrize("quote", ['Dear Ada, you "owe" 5', r"Dear Ada,\nyou \"owe\" 5", "Dear Ada,\nyou"])
def test_a_quote_of_arguments_may_have_the_escapes_of_json_or_not(quote: str) -> None:
    recorded, produced = (json.dumps({"text": f'Dear Ada,\nyou "owe" {amount}'}) for amount in (5, 6))
    open_step = OpenStep(0, "arguments", "send", recorded, produced)

    assert (
        judged(replied(reply("failed", finding(recorded=quote, produced=""))), open_step).steps[0].verdict == "failed"
    )


def test_a_second_look_that_fails_leaves_its_steps_to_a_person_and_keeps_the_others() -> None:
    def script(n: int, _messages: Any) -> Answer:
        if n:
            raise ProviderError("no connection")
        return says(replied(reply("passed", n=0), reply("passed", n=1)))

    steps = step(n=0, evidence=LOST), step(n=1)
    first, other = judge_of(FakeModel(script)).judge_turn(turn_of(*steps)).steps

    assert (first.verdict, other.verdict) == ("needs_review", "passed")
    assert "no connection" in first.reason


KEPT, LOST = StepEvidence(kept=("5 EUR",)), StepEvidence(lost=("5 EUR",), invented=("6 EUR",))
PASSED, FAILED = replied(reply("passed")), replied(reply("failed", finding()))


@pytest.mark.parametrize(
    ("evidence", "first", "second", "verdict"),
    [
        (LOST, PASSED, PASSED, "passed"),
        (LOST, PASSED, FAILED, "needs_review"),
        (KEPT, FAILED, FAILED, "failed"),
        (KEPT, FAILED, PASSED, "needs_review"),
        (KEPT, FAILED, "?", "needs_review"),
    ],
)
def test_a_verdict_against_the_evidence_is_asked_for_again(
    evidence: StepEvidence, first: str, second: str, verdict: str
) -> None:
    model = scripted(says(first), says(second))

    judgement = judge_of(model).judge_turn(turn_of(step(evidence=evidence)))

    assert judgement.steps[0].verdict == verdict
    assert ("not of one mind" in judgement.steps[0].reason) == (verdict == "needs_review")
    assert judgement.tokens == Tokens(20, 4)
    asked_again = model.asked[1][1][0].text
    assert asked_again.index("produced 0") < asked_again.index("recorded 0")
    assert "?" in asked_again[asked_again.index("[begin evidence 0") :]


@pytest.mark.parametrize(("evidence", "reply"), [(LOST, FAILED), (KEPT, PASSED), (StepEvidence(), FAILED)])
def test_a_verdict_that_agrees_with_the_evidence_is_asked_for_once(evidence: StepEvidence, reply: str) -> None:
    model = scripted(says(reply))

    judge_of(model).judge_turn(turn_of(step(evidence=evidence)))

    assert len(model.asked) == 1


def test_context_that_is_too_long_is_cut_with_a_mark_and_texts_of_steps_never() -> None:
    model = scripted(says(replied(reply("passed", n=1))))
    long = "a" * 100_000 + "middle" + "b" * 100_000

    decided = judge_of(model).judge_turn(turn_of(step(long, n=0), step(n=1), instruction=long)).steps

    assert [each.verdict for each in decided] == ["needs_review", "passed"]
    assert "too long" in decided[0].reason
    assert "characters are left out here" in model.asked[0][1][0].text
    assert len(model.asked[0][1][0].text) < 70_000
