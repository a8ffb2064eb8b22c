"""`reprise gate` against an instance over real HTTP: what it asks for, what it prints, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import gate_run, main
from reprise_formats.experiment_summary import forecast_words

from tests.fakes.experiments import FORECAST, Instance, serving
from tests.support.deployment import ROOT, environment
from tests.support.experiments import case, experiment, side
from tests.support.waiting import wait_until

FILE = "---\nprompt: 3\nmodel: echo\ninstructionFormat: RAW\nconfiguration:\n  seed: 1\n---\nHelp.\n"
WORSE = case(12, "Where?", "regressed", side(3, 9), side(9, 9, first_replay=20))
WELL = case(13, "When?", "stable_pass", side(4, 4, first_replay=40), side(4, 4, first_replay=40))
FAILED = experiment([WELL, WORSE], verdict="failed", pValue=0.004)


@pytest.fixture
def instance() -> Iterator[Instance]:
    with serving() as instance:
        yield instance


def gate(instance: Instance, *arguments: str, key: str = "rp_key") -> Result:
    env = {"REPRISE_URL": instance.url, "REPRISE_API_KEY": key}
    return CliRunner().invoke(main, ["gate", "--prompt", "3", *arguments], env=env)


@pytest.mark.parametrize(
    ("verdict", "status", "code"),
    [
        ("passed", "finished", 0),
        ("failed", "finished", 1),
        ("inconclusive", "finished", 3),
        (None, "error", 2),
        (None, "cancelled", 2),
    ],
)
def test_the_exit_code_is_the_verdict(instance: Instance, verdict: str | None, status: str, code: int) -> None:
    instance.states = [experiment(verdict=verdict, status=status, reason="It was so.")]

    assert gate(instance).exit_code == code


def test_only_what_is_named_is_asked_for(instance: Instance) -> None:
    gate(instance)

    assert instance.asked == {"candidate": "draft", "baseline": "latest"}


def test_every_option_reaches_the_experiment(instance: Instance) -> None:
    options = "--baseline none --detect 0.33 --repeats 6:30 --alpha 0.01 --min-pass-rate 0 --max-cost 2.5"

    gate(
        instance,
        *options.split(),
        *("--judge", "gpt-5", "--no-reuse"),
        "--commit",
        "a" * 64,
        "--max-slowdown",
        "1.5",
        "--test-case",
        "Where?",
        "--model",
        "a",
        "--model",
        "b",
    )

    assert instance.asked == {
        "candidate": {"commitHash": "a" * 64},
        "judgeModelName": "gpt-5",
        "reuse": False,
        "baseline": None,
        "detect": 0.33,
        "repeats": {"min": 6, "max": 30},
        "alpha": 0.01,
        "minPassRate": 0,
        "maxCost": 2.5,
        "maxSlowdown": 1.5,
        "testCaseIds": [12],
        "languageModelNames": ["a", "b"],
    }


def test_a_version_is_named_by_the_beginning_of_its_hash(instance: Instance) -> None:
    gate(instance, "--commit", "4f53a0b1", "--baseline", "aaaa")

    assert instance.asked == {
        "candidate": {"commitHash": "4f53a0b1".ljust(64, "0")},
        "baseline": {"commitHash": "a" * 64},
    }


@pytest.mark.parametrize("name", ["bbbb", ""])
def test_a_hash_that_names_no_version_or_several_starts_nothing(instance: Instance, name: str) -> None:
    assert gate(instance, "--baseline", name).exit_code == 2
    assert all(method == "GET" for method, *_ in instance.seen)


def test_a_file_is_the_whole_candidate_and_names_its_prompt(instance: Instance, tmp_path: Path) -> None:
    (tmp_path / "support.md").write_text(FILE)
    env = {"REPRISE_URL": instance.url, "REPRISE_API_KEY": "rp_key"}

    CliRunner().invoke(main, ["gate", "--file", str(tmp_path / "support.md"), "--baseline", "f" * 64], env=env)

    assert [path for _, path, _ in instance.seen[:2]] == [
        "/api/v1/prompts/3/experiments/forecast",
        "/api/v1/prompts/3/experiments",
    ]
    assert instance.asked == {
        "candidate": {
            "value": "Help.\n",
            "languageModelName": "echo",
            "languageModelConfig": {"seed": 1, "tools": []},
            "instructionFormat": "RAW",
            "placeholders": [],
        },
        "baseline": {"commitHash": "f" * 64},
    }


def test_several_candidates_are_named_files_versions_and_the_draft(instance: Instance, tmp_path: Path) -> None:
    (tmp_path / "support.md").write_text(FILE)
    shorter = f"shorter={tmp_path / 'support.md'}"

    gate(instance, "--candidate", shorter, "--candidate", f"old={'f' * 64}", "--candidate", "mine=draft")

    first, *others = instance.asked["candidates"]
    assert (first["name"], first["value"]) == ("shorter", "Help.\n")
    assert others == [{"name": "old", "commitHash": "f" * 64}, {"name": "mine"}]
    assert "candidate" not in instance.asked


@pytest.mark.parametrize("arguments", [("--candidate", "draft"), ("--candidate", "a=draft", "--commit", "f" * 64)])
def test_a_candidate_without_a_name_or_with_another_option_is_refused(
    instance: Instance, arguments: tuple[str, ...]
) -> None:
    assert gate(instance, *arguments).exit_code == 2


def test_several_candidates_are_listed_by_rank(instance: Instance) -> None:
    shown = {"kind": "draft", "commitHash": None, "fingerprint": "", "reason": None, "violated": 0}
    instance.states = [
        FAILED
        | {
            "verdict": "passed",
            "candidates": [
                {
                    "name": "brief",
                    "rank": 1,
                    "verdict": "passed",
                    "classes": {"improved": 2, "stable_pass": 1},
                    **shown,
                },
                {"name": "wordy", "rank": 2, "verdict": "failed", "classes": {"regressed": 1}, **shown, "violated": 1},
            ],
        }
    ]

    lines = gate(instance).stdout.splitlines()

    assert lines[0].startswith("PASSED  1 of 2 candidates passed; first is brief: ")
    assert lines[1:3] == [
        "  1. brief: passed, 2 tests better",
        "  2. wordy: failed, 1 test worse, 1 replay with a violation",
    ]


def test_an_instance_without_forecasts_starts_the_experiment_all_the_same(instance: Instance) -> None:
    instance.has_forecasts = False

    assert gate(instance).exit_code == 0


def test_new_failures_come_first_with_links(instance: Instance) -> None:
    instance.states = [FAILED]

    told = gate(instance).stdout.splitlines()

    assert told[0].startswith("FAILED  1 of 2 tests got worse than version 4f53a0b1 (p < 0.01); ")
    assert told[1] == "  worse: Where?: passed 3 of 9, with the baseline 9 of 9"
    assert told[2] == "    https://reprise.example/projects/1/replays/1"
    assert told[-1] == "https://reprise.example/projects/1/experiments/7"


def test_an_instance_that_restarts_is_waited_for(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    running = experiment(status="running", verdict=None)
    instance.states = [running, 502, 504, running, experiment()]

    assert gate(instance).exit_code == 0


def test_an_instance_that_stays_away_is_given_up(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_run, "PATIENCE_S", 0.0)
    instance.states = [502]

    done = gate(instance)

    assert (done.exit_code, "COULD NOT RUN  Experiment 7: GET" in done.stdout) == (2, True)


def test_an_experiment_that_does_not_end_in_time_is_cancelled(instance: Instance) -> None:
    instance.states = [experiment(status="running", verdict=None)]

    done = gate(instance, "--timeout", "1")

    assert (done.exit_code, instance.cancelled) == (2, True)
    assert "COULD NOT RUN  Experiment 7: not finished within 1 s" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_gate_cancels_its_experiment_and_writes_what_there_is(
    instance: Instance, tmp_path: Path, number: signal.Signals
) -> None:
    instance.states = [experiment(status="running", verdict=None)]
    settings = {"REPRISE_URL": instance.url, "REPRISE_API_KEY": "rp_key"}
    command = ["reprise", "gate", "--prompt", "3", "--junit", str(tmp_path / "gate.xml")]
    # What is started in the background of a shell ignores SIGINT, and so do all its children.
    heeding = ["env", "--default-signal=INT", *command]
    with subprocess.Popen(
        heeding, env=environment(tmp_path, settings), cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(lambda: any(method == "GET" for method, *_ in instance.seen), "the experiment is followed")
            process.send_signal(number)
            told, _ = process.communicate(timeout=120)
        finally:
            process.kill()

    assert (process.returncode, instance.cancelled) == (2, True)
    assert told.startswith("COULD NOT RUN  Experiment 7: interrupted")
    assert (tmp_path / "gate.xml").exists()


def junit(file: Path) -> dict[str, list[str]]:
    """The tags below each test case, by its name."""
    (suite,) = ElementTree.parse(file).getroot()
    return {str(test.get("name")): [child.tag for child in test] for test in suite}


def test_names_in_junit_are_those_of_the_test_cases_and_one_for_the_whole(instance: Instance, tmp_path: Path) -> None:
    instance.states = [FAILED]
    gate(instance, "--junit", str(tmp_path / "new" / "gate.xml"))

    assert junit(tmp_path / "new" / "gate.xml") == {"verdict": ["failure"], "When?": [], "Where?": ["failure"]}
    (suite,) = ElementTree.parse(tmp_path / "new" / "gate.xml").getroot()
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "reprise prompt 3 gate",
        "3",
        "2",
        "0",
    )


def test_test_cases_of_one_name_are_named_by_id(instance: Instance, tmp_path: Path) -> None:
    cases = [case(number, "verdict" if number == 1 else "Same", "stable_pass", side(4, 4)) for number in (1, 2, 3)]
    instance.states = [experiment(cases)]
    gate(instance, "--junit", str(tmp_path / "gate.xml"))

    assert list(junit(tmp_path / "gate.xml")) == ["verdict", "verdict (1)", "Same (2)", "Same (3)"]


def test_a_test_case_that_fails_with_the_baseline_too_fails_no_build(instance: Instance, tmp_path: Path) -> None:
    always = case(14, "Never works", "stable_fail", side(0, 4), side(0, 4, first_replay=20))
    instance.states = [experiment([always])]
    gate(instance, "--junit", str(tmp_path / "gate.xml"))

    assert junit(tmp_path / "gate.xml") == {"verdict": [], "Never works": ["system-out"]}


def test_without_a_baseline_a_test_case_that_does_not_always_pass_fails(instance: Instance, tmp_path: Path) -> None:
    instance.states = [experiment([case(14, "Flaky", "flaky", side(3, 4))], baseline=None, verdict="failed")]
    gate(instance, "--baseline", "none", "--junit", str(tmp_path / "gate.xml"))

    assert junit(tmp_path / "gate.xml")["Flaky"] == ["failure"]


def test_a_forecast_warns_of_a_candidate_that_equals_its_baseline() -> None:
    warning = ". The candidate equals what it is compared with: no difference can be found"

    assert forecast_words(FORECAST | {"comparesNothing": True}) == forecast_words(FORECAST) + warning
    assert forecast_words(FORECAST | {"comparesNothing": False}) == forecast_words(FORECAST)


@pytest.mark.parametrize("arguments", [("--json", "-"), ("--markdown", "-")])
def test_standard_output_has_only_the_report(instance: Instance, arguments: tuple[str, ...]) -> None:
    instance.states = [FAILED]

    done = gate(instance, *arguments)

    assert done.stdout.startswith("{\n" if arguments[0] == "--json" else "**Failed.** ")
    forecast, address, verdict, *_ = done.stderr.splitlines()
    assert forecast == "180 to 1,800 replays (90 reused), about 360 to 6,840 calls of models, $0.40 to $8.00"
    assert address == "https://reprise.example/projects/1/experiments/7"
    assert verdict.startswith("FAILED  ")


def test_json_has_the_whole_experiment(instance: Instance, tmp_path: Path) -> None:
    instance.states = [FAILED]
    gate(instance, "--json", str(tmp_path / "gate.json"))

    assert json.loads((tmp_path / "gate.json").read_text()) == {"exitCode": 1, "problem": None, "experiment": FAILED}


def refused(instance: Instance) -> dict[str, Any]:
    instance.refusal = (400, "candidate.languageModelName: There is no such model.")
    return {}


def foreign(instance: Instance) -> dict[str, Any]:
    instance.refusal = (404, "There is no such prompt.")
    return {}


def keyless(_instance: Instance) -> dict[str, Any]:
    return {"key": ""}


def away(instance: Instance) -> dict[str, Any]:
    instance.url = ""
    return {}


def of_another_kind(instance: Instance) -> dict[str, Any]:
    instance.states = [{"status": "finished"}]
    return {}


@pytest.mark.parametrize("trouble", [refused, foreign, keyless, away, of_another_kind])
def test_every_report_is_written_when_it_could_not_run(instance: Instance, tmp_path: Path, trouble: Any) -> None:
    (tmp_path / "support.md").write_text(FILE)
    options = trouble(instance)
    reports = [tmp_path / name for name in ("gate.xml", "gate.json", "gate.md")]

    done = gate(
        instance,
        *("--file", str(tmp_path / "support.md")),
        *("--junit", str(reports[0]), "--json", str(reports[1]), "--markdown", str(reports[2])),
        **options,
    )

    assert (done.exit_code, done.stdout.startswith("COULD NOT RUN  ")) == (2, True)
    assert junit(reports[0]) == {"verdict": ["error"]}
    assert json.loads(reports[1].read_text())["exitCode"] == 2
    assert reports[2].read_text().startswith("**Could not run.** ")


def test_a_bad_file_is_refused_with_its_line(instance: Instance, tmp_path: Path) -> None:
    (tmp_path / "support.md").write_text(FILE.replace("model:", "modle:"))

    done = gate(instance, "--file", str(tmp_path / "support.md"), "--junit", str(tmp_path / "gate.xml"))

    assert "support.md: line 3: modle: Unknown key." in done.stdout
    assert junit(tmp_path / "gate.xml") == {"verdict": ["error"]}


@pytest.mark.parametrize(
    "arguments", [("--detect", "1"), ("--repeats", "x"), ("--repeats", "4:y"), ("--file", "a", "--commit", "b")]
)
def test_wrong_options_start_nothing(instance: Instance, arguments: tuple[str, ...]) -> None:
    assert gate(instance, *arguments).exit_code == 2
    assert instance.seen == []


FINDING = {
    "kind": "contradicts",
    "recorded": "5 EUR",
    "produced": "6 EUR",
    "matters": True,
    "why": "The *price* differs.",
}
ANSWER = {"kind": "answer", "result": "failed", "reason": "The *price* differs.", "findings": [FINDING]}
SIDES = {"expected": "It costs 5 EUR.", "actual": "It costs 6 EUR."}


def failing_replay(**step: Any) -> dict[str, Any]:
    passed = {"kind": "answer", "result": "passed", **SIDES}
    return {"turns": [{"steps": [passed]}, {"steps": [ANSWER | SIDES | step]}]}


def test_the_first_failing_replay_is_explained_in_lines_junit_and_markdown(instance: Instance, tmp_path: Path) -> None:
    instance.states = [FAILED]
    instance.replays = {str(replay_id): failing_replay() for replay_id in WORSE["candidate"]["failedReplayIds"][:1]}
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"

    output = gate(instance, "--junit", str(junit), "--markdown", str(markdown)).output

    assert "turn 2, step 1 (answer) failed: The *price* differs." in output
    assert "- It costs »5 EUR«." in output
    assert "+ It costs »6 EUR«." in output
    assert output.index("»6 EUR«") < output.index("/replays/")
    texts = [failure.text or "" for failure in ElementTree.parse(junit).iter("failure")]
    assert all("It costs »6 EUR«." in text for text in texts)
    comment = markdown.read_text()
    assert "### What went wrong" in comment
    assert "The &#42;price&#42; differs." in comment
    assert "It costs »6 EUR«." in comment


def test_a_replay_that_can_not_be_read_is_left_out(instance: Instance, tmp_path: Path) -> None:
    instance.states = [FAILED]
    markdown = tmp_path / "gate.md"

    result = gate(instance, "--markdown", str(markdown))

    assert result.exit_code == 1
    assert "What went wrong" not in markdown.read_text()


def test_a_long_explanation_is_bounded(instance: Instance, tmp_path: Path) -> None:
    instance.states = [FAILED]
    step = failing_replay(reason="*" * 100_000, findings=[FINDING | {"why": "*" * 2_000}] * 20)
    instance.replays = {str(replay_id): step for replay_id in WORSE["candidate"]["failedReplayIds"]}
    markdown = tmp_path / "gate.md"

    output = gate(instance, "--markdown", str(markdown)).output

    assert len(output) < 20_000
    assert len(markdown.read_bytes()) < 60_000


@pytest.mark.parametrize("judging", ["always", "never"])
def test_whether_a_model_judges_is_asked_for(instance: Instance, judging: str) -> None:
    gate(instance, "--judging", judging)

    assert instance.asked["judge"] == judging
