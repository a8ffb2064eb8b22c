"""The shipped workflow files ask for no more rights than they need, and give no secret to the text of strangers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import workflows

GITHUB, GITLAB = workflows.github(), workflows.gitlab()
SECRET = "secrets."
STEPS = [step for job in GITHUB["jobs"].values() for step in job["steps"]]


def test_a_github_job_has_just_the_rights_that_it_uses() -> None:
    assert GITHUB["permissions"] == {}
    assert GITHUB["jobs"]["gate"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "permissions" not in GITHUB["jobs"]["replay"]
    (checkout,) = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout")]
    assert checkout["with"]["persist-credentials"] == "false"


def test_pull_requests_of_forks_are_not_replayed() -> None:
    assert "pull_request_target" not in GITHUB["on"], "it would run with secrets for a stranger's text"
    assert "github.event.pull_request.head.repo.full_name == github.repository" in GITHUB["jobs"]["gate"]["if"]
    (rule,) = GITLAB["gate"]["rules"]
    assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID" in rule["if"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.get("name") or step.get("uses") or step["run"])
def test_nothing_is_put_into_a_script_but_by_variables(step: dict[str, Any]) -> None:
    assert "${{" not in step.get("run", "")


def test_only_the_steps_that_ask_the_instance_have_its_key() -> None:
    with_key = [step["run"] for step in STEPS if any(SECRET in value for value in step.get("env", {}).values())]

    assert len(with_key) == 2
    assert all("reprise gate" in run or "reprise replay" in run for run in with_key)
    assert SECRET not in str([job.get("env") for job in GITHUB["jobs"].values()])


def test_both_forges_replay_with_the_same_script() -> None:
    (on_github,) = [step["run"] for step in STEPS if "reprise gate" in step.get("run", "")]
    (on_gitlab,) = [line for line in GITLAB["gate"]["script"] if "reprise gate" in line]

    assert on_gitlab.replace("$CI_MERGE_REQUEST_DIFF_BASE_SHA", "origin/$BASE").splitlines() == on_github.splitlines()
