"""The shipped workflow files ask for no more rights than they need, and give no secret to the text of strangers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import workflows

GITHUB, GITLAB = workflows.read_workflow("github-actions.yml"), workflows.read_workflow("gitlab-ci.yml")
SECRET = "secrets."
PROGRAM = workflows.read_workflow("github-actions-program.yml")
PROGRAM_ON_GITLAB = workflows.read_workflow("gitlab-ci-program.yml")
STEPS = [step for file in (GITHUB, PROGRAM) for job in file["jobs"].values() for step in job["steps"]]


def test_a_github_job_has_just_the_rights_that_it_uses() -> None:
    assert GITHUB["permissions"] == {}
    assert GITHUB["jobs"]["gate"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "permissions" not in GITHUB["jobs"]["replay"]
    assert PROGRAM["permissions"] == {}
    assert PROGRAM["jobs"]["gate"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert GITHUB["jobs"]["publish"]["permissions"] == {"contents": "read"}
    checkouts = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout")]
    assert [checkout["with"]["persist-credentials"] for checkout in checkouts] == ["false"] * 3


def test_pull_requests_of_forks_are_not_replayed() -> None:
    for file in (GITHUB, PROGRAM):
        assert "pull_request_target" not in file["on"], "it would run with secrets for a stranger's text"
        assert "github.event.pull_request.head.repo.full_name == github.repository" in file["jobs"]["gate"]["if"]
    for rules in (GITLAB["gate"]["rules"], PROGRAM_ON_GITLAB["program"]["rules"]):
        assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID" in rules[0]["if"]


def test_only_the_main_branch_publishes() -> None:
    assert GITHUB["on"]["push"] == {"branches": ["main"]}
    assert GITHUB["jobs"]["publish"]["if"] == "github.event_name == 'push'"
    (rule,) = GITLAB["publish"]["rules"]
    assert "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" in rule["if"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.get("name") or step.get("uses") or step["run"])
def test_nothing_is_put_into_a_script_but_by_variables(step: dict[str, Any]) -> None:
    assert "${{" not in step.get("run", "")


def test_only_the_steps_that_ask_the_instance_have_its_key() -> None:
    with_key = [step["run"] for step in STEPS if any(SECRET in value for value in step.get("env", {}).values())]

    assert len(with_key) == 4
    asking = ("reprise gate", "reprise replay", "reprise prompts push")
    assert all(any(command in run for command in asking) for run in with_key)
    (writing,) = [step["run"] for step in STEPS if "REPRISE_WRITE_KEY" in str(step.get("env"))]
    assert "reprise prompts push" in writing
    assert SECRET not in str([job.get("env") for job in GITHUB["jobs"].values()])


def test_both_forges_replay_with_the_same_script() -> None:
    (on_github,) = [step["run"] for step in GITHUB["jobs"]["gate"]["steps"] if "reprise gate" in step.get("run", "")]
    (on_gitlab,) = [line for line in GITLAB["gate"]["script"] if "reprise gate" in line]

    assert on_gitlab.replace("$CI_MERGE_REQUEST_DIFF_BASE_SHA", "origin/$BASE").splitlines() == on_github.splitlines()
