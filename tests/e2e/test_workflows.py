"""The shipped workflows, run as a forge runs them: clone, change the prompt's file, run the steps, read the comment."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from reprise_client.cli.forges import MARKER

from tests.fakes import forge as forges
from tests.fakes.forge import TOKEN, Forge
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support import workflows
from tests.support.command_line import reprise
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import EmbeddedServer, environment
from tests.support.http_client import Client
from tests.support.workflows import Done

START_NS = 1_760_000_000_000_000_000
CALL = RecordedCall("get_order", {"id": "A-1"}, {"total": 20})
TURN = RecordedTurn("What does order A-1 cost?", "Order A-1 costs 20.", (CALL,))
PARAMETERS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
PROMPT = {
    "name": "Support",
    "value": "You help customers of the shop.\nLook every order up.\n",
    "languageModelName": "gpt-4o-mini",
    "languageModelConfig": {"tools": [{"name": "get_order", "parameters": PARAMETERS}]},
}
ALWAYS, SOMETIMES = "Look every order up.", "Look orders up when you are not sure."
NEVER = "Never look anything up."


# A program with an instruction, which calls its model as any does, and is asked by lines.
AGENT = f'''
import json, os, sys, urllib.request
INSTRUCTION = "{ALWAYS}"
TOOL = {{"type": "function", "function": {{"name": "get_order", "parameters": {json.dumps(PARAMETERS)}}}}}
for line in sys.stdin:
    messages = [{{"role": "system", "content": INSTRUCTION}}, {{"role": "user", "content": json.loads(line)["user"]}}]
    body = {{"model": "gpt-4o-mini", "messages": messages, "tools": [TOOL]}}
    headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
    print(json.dumps({{"text": answer["choices"][0]["message"]["content"]}}), flush=True)
'''


class Model:
    """Looks the order up and answers; when the instruction is weak, it invents one answer in three."""

    def __init__(self) -> None:
        self.moods = random.Random(14)

    def __call__(self, body: dict[str, Any]) -> Reply:
        messages = body["messages"]
        if NEVER in str(messages[0]["content"]):
            return Reply(text=TURN.answer)
        careless = SOMETIMES in str(messages[0]["content"])
        if messages[-1]["role"] == "tool" or (careless and self.moods.random() < 1 / 3):
            return Reply(text=TURN.answer)
        return Reply(tool_calls=[(CALL.name, CALL.arguments)])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Upstream() as upstream:
        upstream.choose = Model()
        settings = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": upstream.base_url("OPENAI")}
        with EmbeddedServer(tmp_path_factory.mktemp("workflows"), settings) as server:
            yield server.client()


@pytest.fixture
def forge() -> Iterator[Forge]:
    with forges.serving() as forge:
        yield forge


def git(folder: Path, *arguments: str) -> None:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)


@dataclass
class PullRequest:
    """A clone of the repository with a new branch, and the forge that runs its jobs."""

    name: str
    forge: Forge
    client: Client
    clone: Path
    prompt_id: int

    @property
    def file(self) -> Path:
        return self.clone / "prompts" / "support.md"

    def commit(self, old: str, new: str) -> None:
        self.file.write_text(self.file.read_text().replace(old, new))
        git(self.clone, "commit", "-qam", "Change the prompt")

    def gate(self) -> Done:
        return self.run("gate", "gate", "github-actions.yml", "gitlab-ci.yml")

    def publish(self) -> Done:
        return self.run("publish", "publish", "github-actions.yml", "gitlab-ci.yml")

    def program(self) -> Done:
        return self.run("gate", "program", "github-actions-program.yml", "gitlab-ci-program.yml")

    def run(self, github_job: str, gitlab_job: str, github_file: str, gitlab_file: str) -> Done:
        """Run a job of the shipped workflow."""
        folder = self.clone.parent
        given = environment(folder, forges.variables(self.name, self.forge))
        key, prompt = self.client.api_key, str(self.prompt_id)
        if self.name == "GitLab":
            head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.clone, check=True, capture_output=True)
            variables = {
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main",
                "CI_COMMIT_SHA": head.stdout.decode().strip(),
                "GITLAB_TOKEN": TOKEN,
                "REPRISE_URL": self.client.base_url,
                "REPRISE_API_KEY": key,
                "REPRISE_WRITE_KEY": key,
                "REPRISE_PROMPT": prompt,
            }
            return workflows.run_gitlab(self.clone, {**given, **variables}, gitlab_job, gitlab_file)
        context = {
            "github.base_ref": "main",
            "github.token": TOKEN,
            "vars.REPRISE_URL": self.client.base_url,
            "vars.REPRISE_PROMPT": prompt,
            "secrets.REPRISE_API_KEY": key,
            "secrets.REPRISE_WRITE_KEY": key,
        }
        summary = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
        return workflows.run_github(self.clone, {**given, **summary}, context, github_job, github_file)


@pytest.fixture(params=["GitHub", "GitLab"])
def pull_request(request: pytest.FixtureRequest, client: Client, forge: Forge, tmp_path: Path) -> PullRequest:
    """A stranger puts a prompt into a repository, with a recorded conversation as its test case, and branches off."""
    prompt_id = client.post("/api/v1/prompts", PROMPT).json()["prompt"]["id"]
    batch = export(prompt_id, "conversation", [TURN], start_ns=START_NS)
    assert (
        client.post("/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"}).status
        == 200
    )
    (session,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    assert client.post(f"/api/v1/sessions/{session['id']}/test-cases", {"name": "What does it cost?"}).status == 201
    repository = tmp_path / "repository"
    repository.mkdir()
    pulled = reprise(
        client, tmp_path, "prompts", "pull", "--prompt", str(prompt_id), str(repository / "prompts/support.md")
    )
    assert pulled.returncode == 0, pulled.stderr
    (repository / "gate.py").write_text(AGENT)
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Add the agent and its prompt")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    git(tmp_path / "clone", "checkout", "-qb", "change")
    return PullRequest(str(request.param), forge, client, tmp_path / "clone", prompt_id)


def test_a_change_that_breaks_a_step_one_time_in_three_is_reported_and_its_repair(pull_request: PullRequest) -> None:
    pull_request.commit(ALWAYS, SOMETIMES)
    broken = pull_request.gate()

    (comment,) = pull_request.forge.bodies
    assert broken.failed, broken.log
    assert comment.startswith(f"{MARKER}\n\n### prompts/support.md\n\n**Failed.** 1 of 1 test got worse than version ")
    assert "| What does it cost? | **worse** |" in comment
    assert f"({pull_request.client.base_url}/projects/" in comment, "failing replays are one click away"
    assert "FAILED  1 of 1 test got worse" in broken.log
    summary = pull_request.clone.parent / "summary.md"
    assert pull_request.name == "GitLab" or summary.read_text() == comment.removeprefix(f"{MARKER}\n")

    pull_request.commit(SOMETIMES, f"Be kind. {ALWAYS}")
    mended = pull_request.gate()

    (comment,) = pull_request.forge.bodies
    assert not mended.failed, mended.log
    assert "**Passed.** 1 test passes as often as with version " in comment
    print(comment)
    print(mended.log)
    assert "a step that fails more than 23 % of the time would have shown" in comment


def test_a_pull_request_that_changes_no_prompt_gets_no_comment(pull_request: PullRequest) -> None:
    (pull_request.clone / "gate.py").write_text("print('Another agent.')\n")
    (pull_request.clone / "prompts" / "README.md").write_text("The prompts of the agent.\n")
    git(pull_request.clone, "add", "prompts/README.md")
    git(pull_request.clone, "commit", "-qam", "Change the agent")

    done = pull_request.gate()

    assert (done.failed, pull_request.forge.bodies) == (False, []), done.log


def test_a_file_that_is_no_prompt_is_reported_with_its_line(pull_request: PullRequest) -> None:
    pull_request.commit("model:", "modle:")

    done = pull_request.gate()

    (comment,) = pull_request.forge.bodies
    assert done.failed
    assert "**Could not run.** prompts/support.md: line 4: modle: Unknown key." in comment.replace("&#58;&#8203;", ":")
    assert (pull_request.clone / "reports" / "prompts-support.md.xml").exists()


def test_merged_prompts_become_the_newest_versions(pull_request: PullRequest) -> None:
    versions = f"/api/v1/prompts/{pull_request.prompt_id}/versions"
    before = len(pull_request.client.get(versions).json()["versions"])
    (pull_request.clone / "prompts" / "README.md").write_text("The prompts of the agent.\n")
    git(pull_request.clone, "add", "prompts/README.md")
    pull_request.commit(ALWAYS, f"Be kind. {ALWAYS}")

    first, again = pull_request.publish(), pull_request.publish()

    assert (first.failed, again.failed) == (False, False), first.log + again.log
    newest, *others = pull_request.client.get(versions).json()["versions"]
    assert (newest["message"], len(others)) == ("Change the prompt", before), first.log + again.log


def test_a_change_of_a_program_is_compared_with_the_revision_that_passed(pull_request: PullRequest) -> None:
    (pull_request.clone / "requirements.txt").write_text("")
    git(pull_request.clone, "add", "requirements.txt")
    git(pull_request.clone, "commit", "-qm", "Name what the program needs")
    first = pull_request.program()
    assert not first.failed, first.log
    agent = pull_request.clone / "gate.py"
    agent.write_text(agent.read_text().replace(ALWAYS, NEVER))
    git(pull_request.clone, "commit", "-qam", "Be quick")

    broken = pull_request.program()

    assert broken.failed, broken.log
    (comment,) = pull_request.forge.bodies
    assert comment.startswith("<!-- reprise gate: program -->\n**Failed.** 1 of 1 test got worse than revision "), (
        comment
    )
    assert "| What does it cost? | **worse** |" in comment
