from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner
from reprise_client.cli.guard_map import exit_code, forecast_line, guard_map, made_tests, markdown_lines, report

from tests.fakes.json_server import serving

CASE = {"testCaseId": 7, "name": "Refund | twice"}
GUARDED = {"operator": "turned", "replaced": "never", "by": "always"}


def sentence(line: int, text: str, state: str | None, **more: Any) -> dict[str, Any]:
    return {"line": line, "sentence": text, "state": state, "mutant": None, "testCases": [], **more}


MAP: dict[str, Any] = {
    "status": "finished",
    "reason": "The cost reached $0.50.",
    "progress": {"done": 1200, "total": 1200},
    "costUsd": 0.5,
    "counts": {"guarded": 1, "unguarded": 2, "inert": 1, "undecided": 0},
    "sentences": [
        sentence(1, "You never\nrefund twice.", "guarded", mutant=GUARDED, testCases=[CASE]),
        sentence(2, "Be kind.", "unguarded"),
        sentence(2, "Ask | first.", "unguarded", testCases=[CASE]),
        sentence(12, "Thank you.\x1b[2J", "inert"),
        sentence(13, "End.", None),
    ],
}


def test_the_report_has_each_sentence_with_its_state_and_why() -> None:
    assert list(report(MAP)) == [
        "    1  guarded     You never refund twice.",
        "                   fails with 'always' for 'never': Refund | twice",
        "    2  UNGUARDED   Be kind.",
        "                   every test passes without it",
        "    2  UNGUARDED   Ask | first.",
        "                   answers change without it: Refund | twice",
        "   12  no effect   Thank you.\\u001b[2J",
        "   13  not played  End.",
        "5 sentences: 1 guarded, 2 unguarded, 1 no effect. 1,200 replays, $0.50. The cost reached $0.50.",
    ]


def test_the_table_in_markdown_escapes_its_cells() -> None:
    lines = list(markdown_lines(MAP))
    assert lines[2] == "| 1 | guarded | You never refund twice. | fails with 'always' for 'never': Refund \\| twice |"
    assert lines[4] == "| 2 | UNGUARDED | Ask \\| first. | answers change without it: Refund \\| twice |"
    assert lines[-1].startswith("5 sentences: ")


@pytest.mark.parametrize(
    ("status", "least", "code"), [("finished", None, 0), ("finished", 0.2, 0), ("finished", 0.3, 1), ("error", 0.2, 2)]
)
def test_the_exit_code_shows_whether_enough_sentences_are_guarded(status: str, least: float | None, code: int) -> None:
    assert exit_code(MAP | {"status": status}, least) == code


def test_a_forecast_is_a_line() -> None:
    forecast = {"sentences": 20, "mutants": 41, "testCases": 1, "replays": {"min": 80, "max": 2000}, "cost": None}
    assert forecast_line(forecast) == "20 sentences, 41 mutants, 1 test case: 80 to 2,000 replays"
    cost = {"min": 0.25, "max": 3.0}
    assert forecast_line(forecast | {"cost": cost}).endswith("replays, for $0.25 to $3.00")
    free = {"min": 0.0, "max": 0.0}
    assert forecast_line(forecast | {"cost": free}).endswith("2,000 replays, without a known cost")


def test_a_map_without_a_known_cost_shows_no_amount() -> None:
    assert "1,200 replays, no known cost." in [*report(MAP | {"costUsd": 0.0})][-1]


def test_test_cases_are_made_for_the_sentences_that_sessions_are_offered_for() -> None:
    sessions = [{"sessionId": "a", "words": ["code"]}, {"sessionId": "b", "words": ["code"]}]
    offers = [
        {"number": 0, "sentence": "Be kind.", "sessions": []},
        {"number": 3, "sentence": "Never show\na code.\x1b[2J", "sessions": sessions},
    ]
    sent: list[tuple[str, Any]] = []

    class Instance:
        def get(self, path: str) -> Any:
            return {"sentences": offers} if path == "/maps/7/sessions" else None

        def post(self, path: str, body: Any, *, harmless: bool) -> Any:
            sent.append((path, body))
            return {"testCaseIds": [1, 2], "leftOut": []}

    instance: Any = Instance()
    assert list(made_tests(instance, "/maps/7")) == ["Made 2 test cases for: Never show a code.\\u001b[2J"]
    assert sent == [("/maps/7/test-cases", {"sentence": 3, "sessionIds": ["a", "b"]})]


def test_a_model_is_only_asked_for_mutants_with_the_option() -> None:
    sent: list[Any] = []

    def answer(_method: str, _path: str, _headers: Any, body: Any) -> tuple[int, Any]:
        sent.append(body)
        bounds = {"min": 4, "max": 8}
        return 200, {"sentences": 1, "mutants": 3, "testCases": 1, "replays": bounds, "cost": None}

    with serving(answer) as url:
        arguments = ["--prompt", "3", "--forecast", "--url", url, "--api-key", "k"]
        for option in ([], ["--model-mutants"]):
            answered = CliRunner().invoke(guard_map, [*arguments, *option])
            assert answered.exit_code == 0, answered.output
    assert sent == [{"candidate": "draft"}, {"candidate": "draft", "modelMutants": True}]


def test_a_report_has_the_error_of_the_model_that_was_asked() -> None:
    assert [*report(MAP | {"modelError": "It refused.\x1b[2J"})][-1].endswith(
        "The cost reached $0.50. The model proposed no more mutants: It refused.\\u001b[2J"
    )


def test_long_wordings_of_a_model_are_cut() -> None:
    mutant = {"operator": "model", "replaced": "a" * 300, "by": "b" * 300}
    lines = [*report(MAP | {"sentences": [sentence(1, "Be kind.", "guarded", mutant=mutant)]})]
    assert f"fails with '{'b' * 100}' for '{'a' * 100}': all test cases together" in lines[1]


@pytest.mark.parametrize("lines", ["a", "1-", "1-2-3", "-1", "٣"])
def test_lines_are_one_number_or_two(lines: str) -> None:
    answer = CliRunner().invoke(guard_map, ["--prompt", "3", "--lines", lines, "--url", "http://127.0.0.1:9"])
    assert answer.exit_code == 2
    assert "10-25" in answer.output
