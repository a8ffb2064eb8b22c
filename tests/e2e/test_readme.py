"""The README's walk-through works as printed: every one of its commands is executed here, in its order.

Two things differ from a reader's terminal: packages that are installed are not installed again, and `make test` and
`make check`, which would run this very test, only show what they would do.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.deployment import PATIENT, ROOT, environment, read_assignments
from tests.support.http_client import serves
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, PATIENCE_S, free_port

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S)
SERVE = "make run"
INSTALLED = ["-o", ".venv/base.stamp", "-o", ".venv/mysql.stamp"]
MARK = "=== end of block"
MYSQL, REDIS = "mysql://reprise:secret@127.0.0.1:3306/reprise", "redis://127.0.0.1:6379/0"


def block(beginning: str) -> str:
    """Return the one block that begins with this line."""
    (found,) = [block for block in BLOCKS if block.startswith(beginning)]
    return str(found)


WALK = BLOCKS[1 : BLOCKS.index(block("export DATABASE_URL"))]
SERVICES = block("export DATABASE_URL")
OPERATE = [block("export PATH"), block("reprise doctor")]
WORK = block("make test")


def make_run(home: Path, variables: dict[str, str]) -> ChildProcess:
    """`make run`, ready when it answers."""
    port = free_port()
    return ChildProcess(
        SERVE,
        ["make", *INSTALLED, "run"],
        log=home / "make-run.log",
        env=environment(home, {"PORT": str(port), **PATIENT, **variables}),
        cwd=ROOT,
        ready=lambda: serves(f"http://{LOOPBACK}:{port}") and (home / "dev.env").exists(),
    )


def bash(blocks: list[str], home: Path, variables: dict[str, str] | None = None) -> list[str]:
    """Return the output of each block, all run in a new folder by one shell that stops at the first failure."""
    script = "set -euo pipefail\n" + f"\necho; echo '{MARK}'\n".join(blocks)
    folder = home / "terminal"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["bash", "-c", script],
        env=environment(home, variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(MARK)


def last_json(output: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads(output.strip().splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def answers(home: Path) -> list[str]:
    """The output of the walk through the embedded default, block by block."""
    assert BLOCKS[0].strip() == SERVE
    with make_run(home, {}) as server:
        outputs = bash(WALK, home)
        server.terminate()
    return outputs


def test_every_command_is_among_those_executed_here() -> None:
    assert [BLOCKS[0], *WALK, SERVICES, *OPERATE, WORK] == BLOCKS


def test_the_server_is_ready(answers: list[str]) -> None:
    assert last_json(answers[0])["status"] == "ready"


def test_a_prompt_is_created_rendered_and_run(answers: list[str]) -> None:
    created, rendered, run = map(last_json, answers[1:4])
    assert created["placeholders"] == {"undefinedKeys": [], "ignored": []}
    assert rendered["instruction"] == (
        "<instructions>\n<role>\nYou help customers of Northwind.\n</role>\n"
        "<style>\nBe formal.\n</style>\n</instructions>"
    )
    assert run["answer"] == "Where is order 4711?"


def test_an_agents_turn_is_stored_and_read_back_as_a_session(answers: list[str]) -> None:
    assert last_json(answers[5]) == {"partialSuccess": {}}
    session = json.dumps(last_json(answers[6]))
    assert all(said in session for said in ("Where is order 4711?", "get_order", "It has been shipped."))


def test_a_draft_that_forgets_a_tool_fails_the_build(answers: list[str]) -> None:
    assert answers[9].strip().startswith("PASSED       Where is my order? · 2 passed")
    assert "violation: get_order is no longer offered" in answers[10]
    assert "get_order was never called" in answers[10]
    assert answers[10].strip().endswith("exit code 1")


def test_a_later_start_keeps_data_and_key(home: Path, answers: list[str]) -> None:
    before = read_assignments(home / "dev.env")
    with make_run(home, {}):
        after = read_assignments(home / "dev.env")
        changed = {name for name in before | after if before.get(name) != after.get(name)}
        assert changed <= {"BASE_URL", "SIGN_IN_LINK"}, "only the port may differ, and the link is new"
        listed = last_json(
            bash([WALK[0], 'curl -s "$BASE_URL/api/v1/prompts" -H "Authorization: Bearer $API_KEY"'], home)[1]
        )
    assert [prompt["name"] for prompt in listed["prompts"]] == ["Support", "Demo: shop support"]  # type: ignore[attr-defined]


def test_the_services_mode_and_its_commands_work(tmp_path: Path, mysql_url: str, redis_url: str) -> None:
    lines = SERVICES.replace(MYSQL, mysql_url).replace(REDIS, redis_url).splitlines()
    assert lines.pop() == SERVE
    variables = dict(line.removeprefix("export ").replace('"', "").split("=", 1) for line in lines)
    assert variables == {"DATABASE_URL": mysql_url, "REDIS_URL": redis_url}
    with make_run(tmp_path, variables):
        outputs = bash([*WALK, *OPERATE], tmp_path, variables | {"REPRISE_SECRET_KEY": "for the doctor"})
    assert "It has been shipped." in outputs[6]
    assert outputs[9].strip().startswith("PASSED")
    assert outputs[-2].strip().splitlines()[-1].startswith("rp_")
    assert "PROBLEM" not in outputs[-1]


@pytest.mark.parametrize("command", WORK.split("\n")[:-1])
def test_a_developers_commands_exist(command: str) -> None:
    shown = subprocess.run(
        [*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, env=dict(os.environ), check=True
    )
    assert "pytest" in shown.stdout or "ruff" in shown.stdout
