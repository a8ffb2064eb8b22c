"""`reprise keys`, `erase`, `compress` and `data-policy`: the API keys and the data of a project."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import IO

import click
from reprise_client.cli import terminal
from reprise_formats.controls import visible

from app.cli import context

SCOPES = ("run", "read", "write", "ingest", "admin")


@click.group()
def keys() -> None:
    """API keys of a project."""


@keys.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="Repeatable; all but admin when omitted. CI needs read and run, an exporter of traces only ingest.",
)
@click.option("--expires", type=click.DateTime(), help="When it stops working, UTC; never when omitted.")
@context.project_option
def create(name: str, scopes: tuple[str, ...], expires: datetime | None, project_id: int | None) -> None:
    """Make a key and print it. It can't be shown again."""
    container = context.container()
    new = container.services.keys.create(
        project_id=context.project_or_oldest(container, project_id),
        name=name,
        scopes=frozenset(scopes or set(SCOPES) - {"admin"}),
        expires_at=_utc(expires),
    )
    terminal.echo(new.secret)


@keys.command("list")
@context.project_option
def list_keys(project_id: int | None) -> None:
    """Show the keys: id, name, last characters, scopes, state, last use."""
    from app.timestamps import iso

    container = context.container()
    now = container.now()
    rows = [
        (
            str(key.id),
            key.name,
            f"…{key.last_four}",
            ",".join(sorted(key.scopes)),
            "valid" if key.valid_at(now) else "revoked" if key.revoked_at else "expired",
            iso(key.last_used_at) if key.last_used_at else "never",
        )
        for key in container.services.keys.list(project_id=context.project_or_oldest(container, project_id))
    ]
    terminal.table(("id", "name", "key", "scopes", "state", "last used"), rows)


@keys.command()
@click.argument("key_id", type=int)
@context.project_option
def revoke(key_id: int, project_id: int | None) -> None:
    """Revoke a key. It stops working everywhere within 5 seconds."""
    container = context.container()
    container.services.keys.revoke(project_id=context.project_or_oldest(container, project_id), key_id=key_id)
    terminal.echo(f"Key {key_id} is revoked.")


def _utc(when: datetime | None) -> datetime | None:
    return when and when.replace(tzinfo=UTC)


yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def erase() -> None:
    """Remove a session, a prompt or a project permanently. Existing backups keep it."""


@erase.command()
@click.argument("session_id")
@context.project_option
@yes
def session(session_id: str, project_id: int | None, yes: bool) -> None:
    """Remove a session with its spans. Test cases made from it keep their copies."""
    container = context.container()
    project_id = context.project_or_oldest(container, project_id)
    _confirm(f"session {session_id}", yes)
    container.services.deletion.delete_session(project_id=project_id, session_id=session_id)
    terminal.echo(f"Session {session_id} is erased.")


@erase.command()
@click.argument("prompt_id", type=int)
@context.project_option
@yes
def prompt(prompt_id: int, project_id: int | None, yes: bool) -> None:
    """Remove a prompt with its versions, sessions, runs, test cases and replays."""
    container = context.container()
    project_id = context.project_or_oldest(container, project_id)
    _confirm(f"prompt {prompt_id} with its versions, sessions, runs, test cases and replays", yes)
    container.services.deletion.erase_prompt(project_id=project_id, prompt_id=prompt_id)
    context.wait_until_server_forgets(container)
    terminal.echo(f"Prompt {prompt_id} is erased.")


@erase.command("project")
@click.argument("project_id", type=int)
@yes
def whole_project(project_id: int, yes: bool) -> None:
    """Remove a project with all of its prompts and API keys. The audit log keeps who did what."""
    container = context.container()
    _confirm(f"project {project_id} with all of its prompts and API keys", yes)
    container.services.deletion.erase_project(project_id=project_id)
    context.wait_until_server_forgets(container)
    terminal.echo(f"Project {project_id} is erased.")


def _confirm(what: str, yes: bool) -> None:
    if not yes:
        click.confirm(f"Erase {visible(what)}? Nothing but a backup brings it back.", abort=True)


@click.command()
def compress() -> None:
    """Compress uncompressed data, and the spans of each conversation together; servers may be running."""
    from app.services.data.compression import COMPRESSED_COLUMNS

    services = context.container().services
    service = services.compression
    for column in COMPRESSED_COLUMNS:
        last_id, compressed = service.last_id(column), 0
        with click.progressbar(length=last_id, label=str(column), file=sys.stderr) as bar:
            for checked, rows in service.compress(column, until_id=last_id):
                compressed += rows
                bar.update(checked)
        terminal.echo(f"{column}: {compressed} rows are compressed now.")
    terminal.echo(f"Conversations: the spans of {sum(services.span_packer.pack_all())} are together now.")


@click.group("data-policy")
def data_policy() -> None:
    """Show or change how long a project keeps its data, and what is masked before it is stored."""


@data_policy.command()
@context.project_option
def show(project_id: int | None) -> None:
    """Print the policy as JSON."""
    from app.schemas.answer import dump
    from app.schemas.organization import DataPolicyAnswerSchema

    container = context.container()
    policy = container.services.data_policies.get(project_id=context.project_or_oldest(container, project_id))
    terminal.document(json.dumps(dump(DataPolicyAnswerSchema, policy), indent=2, ensure_ascii=False) + "\n")


@data_policy.command("set")
@click.argument("file", type=click.File(encoding="utf-8"))
@context.project_option
def set_policy(file: IO[str], project_id: int | None) -> None:
    """Set the policy to the content of FILE (- for standard input), in the format that `show` prints."""
    from app.schemas.base import load
    from app.schemas.organization import DataPolicySchema

    try:
        content = json.load(file)
    except ValueError as error:
        raise click.ClickException(f"{file.name}: {error}") from error
    container = context.container()
    policy = load(DataPolicySchema(), content)
    container.services.data_policies.put(project_id=context.project_or_oldest(container, project_id), policy=policy)
    terminal.echo("The policy holds everywhere within 10 seconds.")
