"""`reprise test-cases`: a prompt's test cases as files in a repository, and back."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import click

from app.cli.replay import key_option, prompt_option, url_option

folder = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))


@click.group("test-cases")
def test_cases() -> None:
    """Test cases of a prompt as files."""


@test_cases.command("export")
@folder
@url_option
@key_option
@prompt_option
def export_cases(folder: Path, url: str, api_key: str, prompt_id: int) -> None:
    """Write each test case to a file of its own in FOLDER, named after it. Unchanged ones give the same bytes."""
    from app.cli import remote

    instance = remote.connect(url, api_key)
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    for case in instance.pages(f"/api/v1/prompts/{prompt_id}/test-cases", "testCases"):
        file = f"{slug(case['name'])}.json"
        if file in written:
            raise remote.CouldNotRun(
                f"{written[file]!r} and {case['name']!r} would both be {file}: give one of them another name."
            )
        written[file] = case["name"]
        exported = instance.get(f"/api/v1/test-cases/{case['id']}/export")
        text = json.dumps(exported, indent=2, ensure_ascii=False) + "\n"
        (folder / file).write_text(text, encoding="utf-8")
        click.echo(folder / file)


@test_cases.command("import")
@folder
@url_option
@key_option
@prompt_option
def import_cases(folder: Path, url: str, api_key: str, prompt_id: int) -> None:
    """Make the prompt's test cases what the files in FOLDER say; those of other names stay as they are."""
    from app.cli import remote

    instance = remote.connect(url, api_key)
    files = sorted(folder.glob("*.json"))
    if not files:
        raise remote.CouldNotRun(f"There are no test cases (*.json) in {folder}.")
    for file in files:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise remote.CouldNotRun(f"{file}: {error}") from error
        case = instance.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", content)
        click.echo(f"{case['id']}\t{case['name']}")


def slug(name: str) -> str:
    """A file name for every system: letters and digits of any script, and "-" for all between them."""
    folded = unicodedata.normalize("NFC", name).casefold()
    return re.sub(r"[\W_]+", "-", folded).strip("-")[:80] or "test-case"
