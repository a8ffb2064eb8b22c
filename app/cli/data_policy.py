"""`reprise data-policy`: a project's data policy as JSON, shown and replaced."""

from __future__ import annotations

import json
from typing import IO

import click

from app.cli import context


@click.group("data-policy")
def data_policy() -> None:
    """What a project keeps for how long, and masks before it is stored."""


@data_policy.command()
@context.project_option
def show(project_id: int | None) -> None:
    """Print the policy as JSON."""
    from app.schemas.answer import dump
    from app.schemas.organization import DataPolicy

    built = context.container()
    policy = built.services.data_policies.get(project_id=context.project_or_oldest(built, project_id))
    click.echo(json.dumps(dump(DataPolicy, policy), indent=2, ensure_ascii=False))


@data_policy.command("set")
@click.argument("file", type=click.File(encoding="utf-8"))
@context.project_option
def set_policy(file: IO[str], project_id: int | None) -> None:
    """Make the policy what FILE (- for standard input) says, in the form that `show` prints."""
    from app.schemas.base import load
    from app.schemas.organization import DataPolicySchema

    try:
        content = json.load(file)
    except ValueError as error:
        raise click.ClickException(f"{file.name}: {error}") from error
    built = context.container()
    policy = load(DataPolicySchema(), content)
    built.services.data_policies.put(project_id=context.project_or_oldest(built, project_id), policy=policy)
    click.echo("The policy holds everywhere within 10 seconds.")
