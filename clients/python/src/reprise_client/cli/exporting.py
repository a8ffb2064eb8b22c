"""`reprise export`: what an instance keeps of a prompt, as JSON lines."""

from __future__ import annotations

from datetime import datetime

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, prompt_option, url_option

KINDS = ("sessions", "runs", "test-cases")


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@url_option
@key_option
@prompt_option
@click.option("--since", type=click.DateTime(), help="Only what began then or later, UTC.")
@click.option("--until", type=click.DateTime(), help="Only what began before, UTC.")
def export(kind: str, url: str, api_key: str, prompt_id: int, since: datetime | None, until: datetime | None) -> None:
    """Write a prompt's sessions, runs or test cases to standard output, newest first, one JSON object a line.

    Each is as the API answers it. Exit code 2: not all of it was written.
    """
    from reprise_client.cli import remote

    bounds = {"since": since, "until": until}
    query = {name: f"{moment.isoformat()}Z" for name, moment in bounds.items() if moment}
    pieces = remote.connect(url, api_key).download(f"/api/v1/prompts/{prompt_id}/exports/{kind}", **query)
    terminal.stream(terminal.json_lines(pieces))
