"""`reprise comment` keeps one comment on a pull request, on GitHub and on GitLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import main
from reprise_client.cli.forges import COMMENT_MAX, MARKER

from tests.fakes.forge import TOKEN, Forge, serving, variables

Comment = Callable[..., Result]


@pytest.fixture
def forge() -> Iterator[Forge]:
    with serving() as forge:
        yield forge


@pytest.fixture(params=["GitHub", "GitLab"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def comment(forge: Forge, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comment:
    """Runs the command with a text, in a job of the forge."""
    for variable in ("GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(variable, raising=False)
    tokens = {"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN}

    def run(text: str, **changed: str) -> Result:
        file = tmp_path / "gate.md"
        file.write_text(text, newline="")
        return CliRunner().invoke(main, ["comment", str(file)], env=tokens | variables(name, forge) | changed)

    return run


def test_a_comment_is_written_and_then_changed(comment: Comment, forge: Forge) -> None:
    assert comment("First.").output == "The comment is written.\n"
    assert comment("Second.").output == "The comment is changed.\n"

    assert forge.bodies == [f"{MARKER}\nSecond."]


def test_an_empty_file_deletes_the_comment(comment: Comment, forge: Forge) -> None:
    assert comment("").output == "There is no comment to delete, and none is written of an empty file.\n"
    comment("First.")
    assert comment("\n").output == "The comment is deleted.\n"
    assert forge.bodies == []


def test_the_comment_is_found_behind_hundreds_of_others(comment: Comment, forge: Forge) -> None:
    for number in range(230):
        forge.add(f"Comment {number}", by_job=False)
    comment("First.")
    comment("Second.")

    assert forge.bodies[230:] == [f"{MARKER}\nSecond."]


@pytest.mark.parametrize("author", [{"user": None, "author": None}, {"user": {}, "author": {}}, {}])
def test_a_comment_of_a_deleted_account_is_never_changed(
    comment: Comment, forge: Forge, author: dict[str, object]
) -> None:
    number = forge.add(f"{MARKER}\nOld.", by_job=True)
    forge.comments[number] = {"id": number, "body": f"{MARKER}\nOld.", **author}

    assert comment("First.").output == "The comment is written.\n"
    assert forge.bodies == [f"{MARKER}\nOld.", f"{MARKER}\nFirst."]


@pytest.mark.parametrize("answer", [[], "x", {"message": "no"}, [1]])
def test_an_answer_that_no_forge_gives_ends_with_a_message(
    comment: Comment, forge: Forge, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(Forge, "answer", lambda *_: (200, answer))

    done = comment("First.")

    assert done.exit_code in (0, 2)
    assert "Traceback" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_a_comment_of_somebody_else_is_never_changed(comment: Comment, forge: Forge) -> None:
    forge.add(f"{MARKER}\nI wrote this.", by_job=False)
    forge.add("Another bot.", by_job=True)

    comment("First.")

    assert forge.bodies == [f"{MARKER}\nI wrote this.", "Another bot.", f"{MARKER}\nFirst."]


def test_a_long_text_is_cut_to_the_limit_of_forges(comment: Comment, forge: Forge) -> None:
    assert comment("😀" * 100_000).exit_code == 0
    assert len(forge.bodies[0]) == COMMENT_MAX


def test_a_report_that_windows_wrote_is_the_same_comment(comment: Comment, forge: Forge) -> None:
    assert comment("\ufeff**Passed.**\r\nAll.").exit_code == 0
    assert forge.bodies[0].endswith("\n**Passed.**\nAll.")


def test_a_refusal_of_the_forge_is_printed(comment: Comment, name: str) -> None:
    done = comment("First.", GITHUB_TOKEN="another", GITLAB_TOKEN="another")

    assert (done.exit_code, "answered 401" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"GITHUB_ACTIONS": "", "GITLAB_CI": ""}, "no job of GitHub Actions or of GitLab CI"),
        ({"GITHUB_TOKEN": "", "GITLAB_TOKEN": ""}, "_TOKEN."),
        ({"GITHUB_REF": "refs/heads/main", "CI_MERGE_REQUEST_IID": ""}, ""),
    ],
)
def test_a_job_of_no_pull_request_can_not_comment(
    comment: Comment, forge: Forge, changed: dict[str, str], words: str
) -> None:
    done = comment("First.", **changed)

    assert (done.exit_code, words in done.stderr, forge.bodies) == (2, True, [])
