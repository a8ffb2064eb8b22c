"""The page about replays and the workflow files agree with the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from reprise_client.cli import with_extensions
from reprise_formats.replay_words import VIOLATIONS

from app.process.application import build_app
from app.process.bootstrap import bootstrap
from app.replay.case_types import AnswerCheck, ArgumentsCheck, History, OnMissing, Order
from app.replay.result_types import ViolationKind
from tests.support.world import settings_for

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("replays.md", "reference/gate.md", "reference/replays.md")
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in PAGES)
WORKFLOWS = ("github-actions.yml", "gitlab-ci.yml")
PROGRAMS = ("github-actions-program.yml", "gitlab-ci-program.yml")


def commands(text: str) -> list[list[str]]:
    """Return the arguments of `reprise` on lines that call it, without the shell's redirections."""
    lines = re.findall(r"^\s*(?:- |run: )*reprise (.*)$", text.replace("\\\n", " "), re.M)
    return [shlex.split(re.split(r" >> | \|\| ", line)[0]) for line in lines]


def parsed(words: list[str]) -> click.Context:
    """The command's context; raises what click raises for an option that it does not know."""
    command: click.Command = with_extensions()
    with click.Context(command) as context:
        while isinstance(command, click.Group):
            name, found, words = command.resolve_command(context, words)
            assert found is not None, name
            command = found
    return command.make_context(command.name, words, resilient_parsing=False)


@pytest.mark.parametrize(
    "file", [*(f"ci/{name}" for name in (*WORKFLOWS, *PROGRAMS)), "replays.md", "reference/gate.md"]
)
def test_every_command_shown_is_one(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_URL", "http://reprise")
    text = re.sub(r'"\$\w*PROMPT\w*"', "7", (DOCS / file).read_text(encoding="utf-8"))

    shown = commands(text)

    assert shown
    for words in shown:
        # A file names its prompt itself.
        if not {"comment", "--file", "push"}.intersection(words):
            assert parsed(words).params["prompt_id"] == 7
        else:
            parsed(words)


@pytest.mark.parametrize("choices", [AnswerCheck, ArgumentsCheck, Order, History, OnMissing])
def test_every_choice_is_explained(choices: Any) -> None:
    assert [choice for choice in get_args(choices) if f"`{choice}`" not in PAGE] == []


def test_every_kind_of_violation_is_listed_with_its_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \| the draft ", (DOCS / "replays.md").read_text("utf-8"), re.M))

    assert rows == VIOLATIONS
    assert {*VIOLATIONS} == {*get_args(ViolationKind)}


def test_every_call_named_is_a_route(tmp_path: Path) -> None:
    app = build_app(bootstrap(settings_for(tmp_path)))
    named = set(re.findall(r"/api/v1/[\w/{}$-]+", PAGE))

    assert len(named) > 5
    for path in named:
        concrete = re.sub(r"\{\w+\}|\$\w+", "1", path)
        assert app._router.find(concrete) is not None, path
