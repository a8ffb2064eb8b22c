"""`reprise comment`: one comment of a pull or merge request, kept up to date by the pipeline that runs it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from reprise_client.cli import terminal, text_input


def _name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return a name that ends no comment of HTML."""
    if not re.fullmatch(r"([A-Za-z0-9_.]+(-[A-Za-z0-9_.]+)*)?", value):
        raise click.BadParameter(f"{value!r} may have letters, digits, dots, underscores and single dashes between.")
    return value


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", default="", callback=_name, help="Of several comments, for jobs that each write their own.")
def comment(file: Path, name: str) -> None:
    """Make FILE, in Markdown, the one comment of Reprise on the pull request of this pipeline.

    A comment that is there is changed; an empty FILE deletes it. Runs in GitHub Actions with GITHUB_TOKEN (permission
    `pull-requests: write`), and in GitLab CI with GITLAB_TOKEN (scope `api`). Exit code 2: it could not.
    """
    from reprise_client.cli import forges

    terminal.echo(forges.publish(forges.from_environment(), text_input.read(file).text, name))
