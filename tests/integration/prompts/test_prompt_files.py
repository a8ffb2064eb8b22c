"""`reprise prompts` with a real server: a prompt goes to a file and back, and no change is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import reprise
from tests.support.http_client import Client

TOOL = {"name": "find", "description": "Finds: an order", "parameters": {"type": "object", "properties": {}}}
PLACEHOLDER = {"key": "shop", "values": [{"name": "no", "content": "a\nb", "isDefault": True}]}


@pytest.fixture
def prompt_id(client: Client) -> int:
    return created(client)


def created(client: Client, **other: Any) -> int:
    body = {
        "name": "Support",
        "value": "# Role\nYou help customers of {{shop}}.\n",
        "languageModelName": "demo-agent",
        "languageModelConfig": {"tools": [TOOL], "stop": ["010", "no"]},
        "placeholders": [PLACEHOLDER],
    }
    answer = client.post("/api/v1/prompts", body | other)
    made: int = answer.json()["prompt"]["id"]
    return made


class Folder:
    """A clone of the repository, in which somebody works."""

    def __init__(self, client: Client, path: Path, prompt_id: int) -> None:
        self.client = client
        self.path = path
        self.prompt_id = prompt_id
        self.file = path / "prompts" / "support.md"

    def prompts(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        chosen = () if self.file.exists() else ("--prompt", str(self.prompt_id))
        arguments = ("prompts", command, *chosen, "prompts/support.md", *options)
        return reprise(self.client, self.path, *arguments, folder=self.path)

    def edit(self, old: str, new: str) -> None:
        self.file.write_bytes(self.file.read_bytes().replace(old.encode(), new.encode(), 1))

    def git(self, *arguments: str) -> None:
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *person, *arguments], cwd=self.path, check=True, capture_output=True)

    def draft(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.get(f"/api/v1/prompts/{self.prompt_id}?productive=false").json()
        return answer


@pytest.fixture
def folder(client: Client, prompt_id: int, tmp_path: Path) -> Folder:
    return Folder(client, tmp_path, prompt_id)


def test_a_prompt_is_one_readable_file(folder: Folder) -> None:
    done = folder.prompts("pull")

    assert (done.returncode, done.stderr) == (0, "")
    lines = folder.file.read_text().splitlines()
    assert lines[2].startswith("base: ")
    assert lines[:2] + lines[3:] == [
        "---",
        f"prompt: {folder.prompt_id}",
        "model: demo-agent",
        "instructionFormat: XML",
        "configuration:",
        "  stop:",
        '  - "010"',
        '  - "no"',
        "tools:",
        "- name: find",
        '  description: "Finds: an order"',
        "  parameters:",
        "    type: object",
        "    properties: {}",
        "placeholders:",
        "- key: shop",
        "  values:",
        '  - name: "no"',
        "    content: |-",
        "      a",
        "      b",
        "    isDefault: true",
        "---",
        "# Role",
        "You help customers of {{shop}}.",
    ]


def test_a_text_becomes_a_new_prompt_and_its_file(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "support.md"
    file.write_text("You help customers of {{shop}}.\n")

    done = reprise(client, tmp_path, "prompts", "create", str(file), "--name", "Support", "--model", "demo-agent")
    warning = "Warning: {{shop}} has no placeholder, so the model receives it literally.\n"
    assert (done.returncode, done.stderr) == (0, warning)
    prompt = client.get(f"/api/v1/prompts/{done.stdout.strip()}?productive=false").json()
    assert (prompt["name"], prompt["value"]) == ("Support", "You help customers of {{shop}}.\n")
    assert prompt["instructionFormat"] == "RAW"
    assert client.get(f"/api/v1/prompts/{prompt['id']}/versions").json()["versions"] == []
    assert reprise(client, tmp_path, "prompts", "diff", str(file)).returncode == 0

    again = reprise(client, tmp_path, "prompts", "create", str(file), "--name", "Support")
    assert (again.returncode, f"It is the file of prompt {prompt['id']} already." in again.stderr) == (2, True)


def test_each_file_of_a_folder_becomes_a_prompt_with_its_name_and_a_second_time_none(
    client: Client, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("README.md", "folder-refunds.md", "folder-returns.md")]
    for file in files:
        file.write_text(f"You are {file.stem}.")
    command = ("prompts", "create", *map(str, files), "--model", "demo-agent", "--commit", "As it was")

    first, second = reprise(client, tmp_path, *command), reprise(client, tmp_path, *command)

    assert (first.returncode, second.returncode, first.stderr, second.stderr) == (0, 0, "", "")
    listed = {prompt["name"]: prompt["id"] for prompt in client.get("/api/v1/prompts?search=folder-").json()["prompts"]}
    made = [(file, listed[file.stem]) for file in files[1:]]
    assert first.stdout.splitlines() == [f"{file} is prompt {prompt_id}." for file, prompt_id in made]
    assert second.stdout.splitlines() == [
        f"{file} is the file of prompt {prompt_id} already." for file, prompt_id in made
    ]
    assert "README" not in listed
    assert files[0].read_text() == "You are README."


def test_no_prompt_is_made_of_several_files_when_one_can_not_be_read(client: Client, tmp_path: Path) -> None:
    files = [tmp_path / "unique-good.md", tmp_path / "bad.md"]
    files[0].write_text("Help.")
    files[1].write_text("---\nmodel: [")

    done = reprise(client, tmp_path, "prompts", "create", *map(str, files), "--model", "demo-agent")

    assert (done.returncode, files[0].read_text()) == (2, "Help.")
    assert "bad.md: line" in done.stderr
    assert client.get("/api/v1/prompts?search=unique-good").json()["prompts"] == []


@pytest.mark.parametrize("options", [(), ("--name", "Support"), ("--into", "other.md")])
def test_one_new_prompt_needs_a_name_and_several_have_those_of_their_files(
    client: Client, tmp_path: Path, options: tuple[str, ...]
) -> None:
    files = [tmp_path / "a.md", tmp_path / "b.md"][: len(options) or 1]
    for file in files:
        file.write_text("Help.")

    done = reprise(client, tmp_path, "prompts", "create", *map(str, files), "--model", "demo-agent", *options)

    assert (done.returncode, "--name" in done.stderr, files[0].read_text()) == (2, True, "Help.")


def test_a_file_that_a_program_reads_stays_unchanged(client: Client, tmp_path: Path) -> None:
    read, file = tmp_path / "instruction.txt", tmp_path / "prompts" / "support.md"
    read.write_text("You help customers.\n")
    arguments = ("--name", "Support", "--model", "demo-agent", "--into", str(file))

    done = reprise(client, tmp_path, "prompts", "create", str(read), *arguments)

    assert (done.returncode, read.read_text()) == (0, "You help customers.\n")
    assert f"prompt: {done.stdout.strip()}\n" in file.read_text()
    assert reprise(client, tmp_path, "prompts", "diff", str(file)).returncode == 0


def test_a_new_file_with_front_matter_keeps_its_comments(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "support.md"
    file.write_text("---\r\nmodel: demo-agent  # cheap\r\ninstructionFormat: RAW\r\n---\r\nHelp.\r\n", newline="")

    done = reprise(client, tmp_path, "prompts", "create", str(file), "--name", "Support", "--commit", "First")

    assert (done.returncode, done.stderr) == (0, "")
    assert b"model: demo-agent  # cheap\r\n" in file.read_bytes()
    prompt = client.get(f"/api/v1/prompts/{done.stdout.strip()}").json()
    assert (prompt["value"], prompt["instructionFormat"]) == ("Help.\n", "RAW")
    versions = client.get(f"/api/v1/prompts/{done.stdout.strip()}/versions").json()["versions"]
    assert [version["message"] for version in versions] == ["First"]
    assert reprise(client, tmp_path, "prompts", "push", str(file)).returncode == 0


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("Help.", (), "name the model with --model"),
        ("Help.", ("--model", "no-such"), "model"),
        ("---\nmodel: [", (), "line"),
    ],
)
def test_a_file_that_can_make_no_prompt_is_left_unchanged(
    client: Client, tmp_path: Path, content: str, options: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "support.md"
    file.write_text(content)

    done = reprise(client, tmp_path, "prompts", "create", str(file), "--name", "Support", *options)

    assert (done.returncode, done.stdout, file.read_text()) == (2, "", content)
    assert said in done.stderr


def test_the_same_draft_gives_the_same_bytes(folder: Folder, client: Client, tmp_path: Path) -> None:
    folder.prompts("pull")
    first = folder.file.read_bytes()
    assert folder.prompts("pull").returncode == 0
    assert folder.file.read_bytes() == first

    other = Folder(client, tmp_path / "other", created(client))
    other.path.mkdir()
    other.prompts("pull")
    ids = (f"prompt: {other.prompt_id}\n".encode(), f"prompt: {folder.prompt_id}\n".encode())
    assert other.file.read_bytes().replace(*ids) == first


@pytest.mark.parametrize(
    "text",
    ["", "---\na: b\n---\n", "a\nb\n", "a\n\n\n", "no line end 😀", "\ufeff\x0b\u2028\x85\x01", "é\n" * 60_000],
)
def test_any_text_goes_to_the_file_and_back_byte_for_byte(client: Client, folder: Folder, text: str) -> None:
    assert client.patch(f"/api/v1/prompts/{folder.prompt_id}", {"value": text}).status == 200
    assert folder.prompts("pull").returncode == 0
    assert folder.file.read_bytes().endswith(b"\n---\n" + text.encode())
    folder.edit("\n---\n", "\n---\nMore.")

    assert folder.prompts("push").returncode == 0
    assert folder.draft()["value"] == f"More.{text}"


def test_a_pushed_file_is_the_draft_and_can_be_pushed_again(folder: Folder) -> None:
    folder.prompts("pull")
    folder.edit("You help", "You kindly help")
    folder.edit("stop:", "temperature: 0.5  # calm\n  stop:")

    first = folder.prompts("push")
    assert (first.returncode, first.stderr) == (0, "")
    draft = folder.draft()
    assert (draft["commited"], draft["languageModelConfig"]["temperature"]) == (False, 0.5)
    assert draft["value"].startswith("# Role\nYou kindly help")
    assert b"temperature: 0.5  # calm\n" in folder.file.read_bytes(), "comments stay"

    folder.edit("kindly", "always")
    assert folder.prompts("push").returncode == 0
    assert "always" in folder.draft()["value"]


def test_a_push_with_a_message_makes_a_version_once(folder: Folder, client: Client) -> None:
    folder.prompts("pull")
    folder.edit("You help", "You kindly help")

    done = folder.prompts("push", "--commit", "Be kind")
    again = folder.prompts("push", "--commit", "Be kind")

    versions = client.get(f"/api/v1/prompts/{folder.prompt_id}/versions").json()["versions"]
    assert [version["message"] for version in versions] == ["Be kind", "Initial commit"]
    assert f"committed as version {versions[0]['commitHash'][:8]}" in done.stdout
    assert (again.returncode, "nothing to commit" in again.stdout) == (0, True)


def test_of_two_people_the_second_sees_the_changes_of_the_first_before_they_are_lost(
    folder: Folder, client: Client, tmp_path: Path
) -> None:
    colleague = Folder(client, tmp_path / "colleague", folder.prompt_id)
    colleague.path.mkdir()
    for each in (folder, colleague):
        each.prompts("pull")
    colleague.edit("You help", "You gladly help")
    folder.edit("customers", "friends")
    assert colleague.prompts("push").returncode == 0

    refused = folder.prompts("push", "--commit", "Friends")

    assert refused.returncode == 1
    assert "has changes that prompts/support.md has not seen" in refused.stderr
    assert "gladly" in folder.draft()["value"]
    shown = folder.prompts("diff")
    assert shown.returncode == 1
    assert "-You gladly help customers of {{shop}}.\n+You help friends of {{shop}}.\n" in shown.stdout
    assert folder.prompts("pull").returncode == 1, "the file's own changes would be lost"
    assert folder.prompts("pull", "--force").returncode == 0
    assert folder.prompts("diff").returncode == 0
    folder.edit("customers", "friends")
    assert folder.prompts("push").returncode == 0
    assert folder.draft()["value"] == "# Role\nYou gladly help friends of {{shop}}.\n"


def test_force_overwrites_what_was_not_seen(folder: Folder, client: Client) -> None:
    folder.prompts("pull")
    client.patch(f"/api/v1/prompts/{folder.prompt_id}", {"value": "By hand."})
    folder.edit("You help", "You gladly help")

    assert folder.prompts("push", "--force").returncode == 0
    assert "gladly" in folder.draft()["value"]


def test_a_machine_that_pushes_what_was_merged_has_seen_what_it_pushed_before(folder: Folder, client: Client) -> None:
    folder.prompts("pull")
    folder.git("init", "-q")
    folder.git("add", ".")
    folder.git("commit", "-qm", "First")
    for old, new in (("You help", "You gladly help"), ("gladly", "kindly")):
        folder.edit(old, new)
        folder.git("commit", "-qam", new)
        assert folder.prompts("push", "--commit", new).returncode == 0
        folder.git("checkout", "-q", ".")

    client.patch(f"/api/v1/prompts/{folder.prompt_id}", {"value": "By hand."})
    folder.edit("kindly", "politely")
    folder.git("commit", "-qam", "politely")
    assert folder.prompts("push", "--commit", "politely").returncode == 1
    assert folder.prompts("pull").returncode == 0, "all of the file is committed"
    assert folder.file.read_bytes().endswith(b"---\nBy hand.")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("model:", "modle:", "prompts/support.md: line 4: modle: Unknown key."),
        ("demo-agent", "gpt-none", "prompts/support.md: "),
        ("stop:", "temperature: 9\n  stop:", "configuration.temperature: "),
        ("name: find", "name: a b", "tools.0.name: "),
        ("XML", "RAW", "instructionFormat: Prompt"),
        ("---\n# Role", "# Role", "has no end"),
        ("{{shop}}", "\x00", "line 26: There is a NUL character."),
    ],
)
def test_an_error_in_a_file_is_reported_and_changes_nothing(folder: Folder, old: str, new: str, words: str) -> None:
    folder.prompts("pull")
    before = folder.draft()
    folder.edit(old, new)

    done = folder.prompts("push")

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert folder.draft() == before


def test_a_missing_file_and_one_that_is_not_text_are_reported(folder: Folder) -> None:
    assert "support.md: No such file" in folder.prompts("push").stderr
    folder.file.parent.mkdir()
    folder.file.write_bytes(b"\xe9")
    assert "support.md: line 1: The file is not UTF-8. A code page is not guessed" in folder.prompts("push").stderr


def test_a_checkout_of_windows_does_not_differ_from_the_draft(folder: Folder) -> None:
    folder.prompts("pull")
    pulled = folder.file.read_bytes()
    folder.git("init", "-q")
    folder.git("config", "core.autocrlf", "true")
    folder.git("add", ".")
    folder.git("commit", "-qm", "First")
    folder.file.unlink()
    folder.git("checkout", "-q", ".")
    checked_out = folder.file.read_bytes()
    assert checked_out == pulled.replace(b"\n", b"\r\n")

    draft = folder.draft()
    assert folder.prompts("diff").returncode == 0
    assert folder.prompts("pull").returncode == folder.prompts("push").returncode == 0
    assert folder.file.read_bytes() == checked_out
    assert folder.draft() == draft
    folder.edit("You help", "You gladly help")
    assert folder.prompts("push").returncode == 0
    assert folder.draft()["value"] == "# Role\nYou gladly help customers of {{shop}}.\n"
    assert b"\r\n---\r\n# Role\r\n" in folder.file.read_bytes()


def test_line_ends_of_a_draft_are_no_change_of_its_file(folder: Folder, client: Client) -> None:
    client.patch(f"/api/v1/prompts/{folder.prompt_id}", {"value": "a\r\nb\rc"})

    assert folder.prompts("pull").returncode == 0
    assert folder.file.read_bytes().endswith(b"\n---\na\nb\nc")
    assert folder.prompts("diff").returncode == folder.prompts("push").returncode == 0
    assert folder.draft()["value"] == "a\r\nb\rc"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_keeps_its_encoding_and_its_mark(folder: Folder, encoding: str) -> None:
    folder.prompts("pull")
    folder.file.write_bytes(folder.file.read_text().replace("You help", "You help 😀").encode(encoding))
    before = folder.file.read_text(encoding)

    assert folder.prompts("push").returncode == 0
    assert "You help 😀 customers" in folder.draft()["value"]
    assert folder.prompts("diff").returncode == 0
    stored = folder.file.read_bytes().decode(encoding).splitlines()
    assert [line for line in stored if "base:" not in line] == [
        line for line in before.splitlines() if "base:" not in line
    ]
    assert folder.file.read_bytes()[:2] == before.encode(encoding)[:2]
