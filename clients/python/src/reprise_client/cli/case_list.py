"""`reprise test-cases list` and `delete`."""

from __future__ import annotations

import click
from reprise_formats.controls import visible

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, prompt_option, select_cases, url_option


@click.command("list")
@url_option
@key_option
@prompt_option
def list_cases(url: str, api_key: str, prompt_id: int) -> None:
    """Print a line for each test case, newest first: its id and name."""
    from reprise_client.cli import remote

    for case in remote.connect(url, api_key).pages(f"/api/v1/prompts/{prompt_id}/test-cases", "testCases"):
        terminal.echo(f"{case['id']}\t{visible(case['name'])}")


@click.command("delete")
@click.argument("names", metavar="ID|NAME...", nargs=-1, required=True)
@url_option
@key_option
@prompt_option
def delete_cases(names: tuple[str, ...], url: str, api_key: str, prompt_id: int) -> None:
    """Delete test cases; the results of their replays stay. Nothing is deleted if one of them does not exist."""
    from reprise_client.cli import remote

    instance = remote.connect(url, api_key)
    for id_, name in select_cases(instance, prompt_id, names):
        instance.delete(f"/api/v1/test-cases/{id_}")
        terminal.echo(f"Deleted {id_}\t{visible(name)}")
