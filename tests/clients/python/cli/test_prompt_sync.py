"""A push between another's read and write is refused, not lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from reprise_client.cli import prompt_sync
from reprise_client.cli.prompt_sync import SyncRefused
from reprise_client.cli.remote import Remote


class Instance:
    """A prompt behind HTTP; `changed_by_others` happens after it was read."""

    def __init__(self) -> None:
        self.value, self.revision, self.committed = "Help.", 1, False
        self.changed_by_others = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method != "GET" and self.changed_by_others:
            self.revision += 1
        if request.method != "GET" and request.headers["If-Match"] != f'"{self.revision}"':
            return httpx.Response(412, json={"error": "The draft has changed since you read it."})
        if request.method == "PATCH":
            self.value, self.revision = json.loads(request.content)["value"], self.revision + 1
        if request.method == "POST":
            return httpx.Response(201, json={"commitHash": "a" * 64})
        return httpx.Response(200, json=self.shown(), headers={"ETag": f'"{self.revision}"'})

    def shown(self) -> dict[str, Any]:
        return {
            "id": 17,
            "value": self.value,
            "commited": self.committed,
            "languageModel": {"name": "echo", "completionTokensMax": 4096},
            "fallbackModelName": None,
            "languageModelConfig": {},
            "instructionFormat": "RAW",
            "placeholderDefinitions": [],
        }


@pytest.fixture
def instance() -> Instance:
    return Instance()


@pytest.fixture
def remote(instance: Instance) -> Remote:
    return Remote("http://reprise", "rp_key", transport=httpx.MockTransport(instance))


@pytest.fixture
def file(remote: Remote, tmp_path: Path) -> Path:
    made = tmp_path / "support.md"
    prompt_sync.pull(remote, made, 17, force=False)
    return made


def test_a_change_between_reading_and_writing_is_not_overwritten(
    instance: Instance, remote: Remote, file: Path
) -> None:
    file.write_text(file.read_text() + " Kindly.")
    before = file.read_bytes()
    instance.changed_by_others = True

    with pytest.raises(SyncRefused, match=r"has changes that .* has not seen"):
        list(prompt_sync.push(remote, file, None, None, force=True))
    assert (instance.value, file.read_bytes()) == ("Help.", before)


def test_a_change_between_writing_and_committing_is_not_committed(
    instance: Instance, remote: Remote, file: Path
) -> None:
    instance.changed_by_others = True

    with pytest.raises(SyncRefused, match="was changed before it could be committed"):
        list(prompt_sync.push(remote, file, None, "Message", force=False))


def test_nothing_is_sent_for_a_draft_that_is_the_newest_version(instance: Instance, remote: Remote, file: Path) -> None:
    instance.committed = instance.changed_by_others = True

    assert list(prompt_sync.push(remote, file, None, "Message", force=False))[1].startswith(
        "There is nothing to commit"
    )


def test_a_pull_keeps_links_modes_and_what_is_next_to_the_file(
    instance: Instance, remote: Remote, file: Path, tmp_path: Path
) -> None:
    link = tmp_path / "linked.md"
    link.symlink_to(file)
    file.chmod(0o640)
    kept = tmp_path / f".support.md.{os.getpid()}"
    kept.write_text("another's")
    instance.value = "Help more."

    prompt_sync.pull(remote, link, 17, force=False)

    assert link.is_symlink()
    assert "Help more." in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    assert kept.read_text() == "another's"
    assert {path.name for path in tmp_path.iterdir()} == {file.name, link.name, kept.name}
