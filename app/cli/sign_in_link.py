"""`reprise sign-in-link`: a link that signs a user in who has forgotten the password."""

from __future__ import annotations

import click

from app.cli import context


@click.command("sign-in-link")
@click.argument("email")
def sign_in_link(email: str) -> None:
    """Print a link that signs the user of EMAIL in: for a day, or until the next one is made.

    Send it to nobody else: whoever has it is that user.
    """
    from app.cli.init import base_url

    settings = context.load()
    path = context.container(settings).services.accounts.sign_in_link(email=email)
    click.echo(base_url(settings) + path)
