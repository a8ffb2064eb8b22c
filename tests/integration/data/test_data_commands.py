"""The commands that erase data and set policies act on the instance of the settings that they are given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import with_extensions

from app.process import home
from tests.support.full_project import everything
from tests.support.uncompressed import store_spans_plain
from tests.support.world import World, new_world, running, settings_for


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The only project of an instance, to which the commands belong."""
    monkeypatch.setenv("REPRISE_HOME", str(tmp_path))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    home.claim(tmp_path, with_database=True)
    with running(settings_for(tmp_path)) as container:
        yield new_world(container)


@pytest.fixture
def made(mine: World) -> dict[str, Any]:
    return everything(mine)


def reprise(*arguments: object, input_: str | None = None) -> Result:
    return CliRunner().invoke(with_extensions(), [str(argument) for argument in arguments], input=input_)


def test_nothing_is_erased_without_a_yes(mine: World, made: dict[str, Any]) -> None:
    assert reprise("erase", "prompt", made["prompt_id"], input_="n\n").exit_code == 1
    assert mine.get(f"/api/v1/prompts/{made['prompt_id']}").status_code == 200


@pytest.mark.parametrize("what", ["session", "prompt"])
def test_what_is_confirmed_is_erased(mine: World, made: dict[str, Any], what: str) -> None:
    assert reprise("erase", what, made[f"{what}_id"], input_="y\n").exit_code == 0
    assert mine.get(f"/api/v1/{what}s/{made[f'{what}_id']}").status_code == 404
    # Only that of the agent, which has another prompt, is left.
    assert mine.count("spans") == 1


def test_a_project_is_erased_and_not_listed_any_more(mine: World, made: dict[str, Any]) -> None:
    assert reprise("erase", "project", mine.project_id, "--yes").exit_code == 0
    assert mine.count("runs") == mine.count("api_keys") == 0
    assert "no project yet" in reprise("keys", "list").output


def test_the_policy_that_was_set_is_shown(made: dict[str, Any]) -> None:
    kept = {"retentionDays": {"spans": 3, "runs": None, "replays": None, "rejectedSpans": None}, "masking": []}
    assert reprise("data-policy", "set", "-", input_=json.dumps(kept)).exit_code == 0
    assert json.loads(reprise("data-policy", "show").output) == kept


@pytest.mark.parametrize("content", ["{", '{"retentionDays": {"spans": -1}}'])
def test_a_policy_that_can_not_be_used_is_an_error(made: dict[str, Any], content: str) -> None:
    done = reprise("data-policy", "set", "-", input_=content)
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")


def test_what_earlier_releases_stored_is_compressed(mine: World, made: dict[str, Any]) -> None:
    said = mine.get(f"/api/v1/sessions/{made['session_id']}").json
    count = store_spans_plain(mine)

    assert f"spans.body: {count} rows are compressed now" in reprise("compress").output
    assert "spans.body: 0 rows are compressed now" in reprise("compress").output
    assert mine.get(f"/api/v1/sessions/{made['session_id']}").json == said
