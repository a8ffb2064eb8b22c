"""`reprise keys`: API keys of a project."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from app.cli import context

SCOPES = ("run", "read", "write", "ingest", "admin")


@click.group()
def keys() -> None:
    """API keys of a project."""


@keys.command()
@click.argument("name")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="Repeatable; all but admin when left out."
)
@click.option("--expires", type=click.DateTime(), help="When it stops working, UTC; never when left out.")
@context.project_option
def create(name: str, scopes: tuple[str, ...], expires: datetime | None, project_id: int | None) -> None:
    """Make a key and print it: it can't be shown again."""
    built = context.container()
    new = built.services.keys.create(
        project_id=context.project_or_oldest(built, project_id),
        name=name,
        scopes=frozenset(scopes or set(SCOPES) - {"admin"}),
        expires_at=expires and expires.replace(tzinfo=UTC),
    )
    click.echo(new.secret)


@keys.command("list")
@context.project_option
def list_keys(project_id: int | None) -> None:
    """Show the keys: id, name, last characters, scopes, state, last use."""
    from app.timestamps import iso_or_none

    built = context.container()
    now = built.now()
    rows = [
        (
            str(key.id),
            key.name,
            f"…{key.last_four}",
            ",".join(sorted(key.scopes)),
            "valid" if key.valid_at(now) else "revoked" if key.revoked_at else "expired",
            iso_or_none(key.last_used_at) or "never",
        )
        for key in built.services.keys.list(project_id=context.project_or_oldest(built, project_id))
    ]
    context.table(("id", "name", "key", "scopes", "state", "last used"), rows)


@keys.command()
@click.argument("key_id", type=int)
@context.project_option
def revoke(key_id: int, project_id: int | None) -> None:
    """Make a key stop working, everywhere within 5 seconds."""
    built = context.container()
    built.services.keys.revoke(project_id=context.project_or_oldest(built, project_id), key_id=key_id)
    click.echo(f"Key {key_id} is revoked.")
