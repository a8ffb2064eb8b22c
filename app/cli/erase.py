"""`reprise erase`: removes a session, a prompt or a project for good."""

from __future__ import annotations

import click

from app.cli import context

yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def erase() -> None:
    """Remove a session, a prompt or a project for good. Backups keep it until they go."""


@erase.command()
@click.argument("session_id")
@context.project_option
@yes
def session(session_id: str, project_id: int | None, yes: bool) -> None:
    """Remove a session with its spans. Test cases made from it keep their copies."""
    built = context.container()
    project_id = context.project_or_oldest(built, project_id)
    _confirm(f"session {session_id}", yes)
    built.services.deletion.delete_session(project_id=project_id, session_id=session_id)
    click.echo(f"Session {session_id} is erased.")


@erase.command()
@click.argument("prompt_id", type=int)
@context.project_option
@yes
def prompt(prompt_id: int, project_id: int | None, yes: bool) -> None:
    """Remove a prompt with its versions, sessions, runs, test cases and replays."""
    built = context.container()
    project_id = context.project_or_oldest(built, project_id)
    _confirm(f"prompt {prompt_id} with its versions, sessions, runs, test cases and replays", yes)
    built.services.deletion.erase_prompt(project_id=project_id, prompt_id=prompt_id)
    context.let_server_forget(built)
    click.echo(f"Prompt {prompt_id} is erased.")


@erase.command("project")
@click.argument("project_id", type=int)
@yes
def whole_project(project_id: int, yes: bool) -> None:
    """Remove a project with all of its prompts and API keys. The audit log keeps who did what."""
    built = context.container()
    _confirm(f"project {project_id} with all of its prompts and API keys", yes)
    built.services.deletion.erase_project(project_id=project_id)
    context.let_server_forget(built)
    click.echo(f"Project {project_id} is erased.")


def _confirm(what: str, yes: bool) -> None:
    if not yes:
        click.confirm(f"Erase {what}? Nothing but a backup brings it back.", abort=True)
