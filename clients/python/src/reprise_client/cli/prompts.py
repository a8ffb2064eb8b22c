"""`reprise prompts`: a prompt as a file in a repository."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, url_option

file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
own_prompt_option = click.option("--prompt", "prompt_id", type=int, help="Id; left out, the one that the file names.")


@click.group()
def prompts() -> None:
    """Prompts as files.

    Exit code 0: done. 1: refused, as changes would be lost; for `diff`, the two differ. 2: could not run.
    """


@prompts.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@url_option
@key_option
@click.option("--name", help="The prompt's name; each of several prompts is named after its file.")
@click.option("--model", help="The model's name, for a file without front matter.")
@click.option(
    "--format",
    "text_format",
    type=click.Choice(("RAW", "XML")),
    default="RAW",
    show_default=True,
    help="What becomes of the text of such a file: RAW leaves it unchanged, XML makes elements of its headings.",
)
@click.option("--commit", "message", help="Commit the draft, too, with this message.")
@click.option(
    "--into",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the prompt's file here, and leave FILE unchanged, as for a program that reads FILE.",
)
def create(
    files: tuple[Path, ...],
    url: str,
    api_key: str,
    name: str | None,
    model: str | None,
    text_format: Literal["RAW", "XML"],
    message: str | None,
    into: Path | None,
) -> None:
    """Make a new prompt of each FILE, which may be only its text, and print its id.

    FILE, or the file of --into, names the prompt from then on. Of several files, a README.md and the ones that name a
    prompt already are left out, so that the command can be repeated.
    """
    from reprise_client.cli import prompt_sync, remote

    new = prompt_sync.New(name, model, text_format, message, into)
    if len(files) > 1:
        if name is not None or into is not None:
            raise click.UsageError("--name and --into are for one FILE.")
        for line in prompt_sync.create_all(remote.connect(url, api_key), files, new):
            terminal.echo(line)
        return
    if name is None:
        raise click.UsageError("Name the prompt with --name.")
    terminal.echo(prompt_sync.create(remote.connect(url, api_key), files[0], new))


@prompts.command()
@file_argument
@url_option
@key_option
@own_prompt_option
@click.option("--force", is_flag=True, help="Overwrite changes of the file, too.")
def pull(file: Path, url: str, api_key: str, prompt_id: int | None, force: bool) -> None:
    """Write a prompt's draft to FILE, unless FILE has changes that are neither pushed nor committed to git."""
    from reprise_client.cli import prompt_sync, remote

    terminal.echo(prompt_sync.pull(remote.connect(url, api_key), file, prompt_id, force=force))


@prompts.command()
@file_argument
@url_option
@key_option
@own_prompt_option
@click.option("--commit", "message", help="Commit the draft, too, with this message.")
@click.option("--force", is_flag=True, help="Overwrite changes of the draft, too.")
def push(file: Path, url: str, api_key: str, prompt_id: int | None, message: str | None, force: bool) -> None:
    """Make FILE the prompt's draft, or with --commit a version, unless the draft has changes that FILE has not seen."""
    from reprise_client.cli import prompt_sync, remote

    for line in prompt_sync.push(remote.connect(url, api_key), file, prompt_id, message, force=force):
        terminal.echo(line)


@prompts.command()
@file_argument
@url_option
@key_option
@own_prompt_option
def diff(file: Path, url: str, api_key: str, prompt_id: int | None) -> None:
    """Show what pushing FILE would change in the prompt's draft, as a unified diff.

    Exit code 0: nothing. 1: something. 2: could not run.
    """
    from reprise_client.cli import prompt_sync, remote

    difference = prompt_sync.diff(remote.connect(url, api_key), file, prompt_id)
    terminal.echo(difference, nl=False)
    sys.exit(1 if difference else 0)
