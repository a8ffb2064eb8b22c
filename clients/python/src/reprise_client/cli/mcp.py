"""`reprise mcp`: prompts, sessions and gates for a coding agent."""

from __future__ import annotations

import click

from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import key_option, url_option


@click.command()
@url_option
@key_option
def mcp(url: str, api_key: str) -> None:
    """Serve the project of the key to an MCP client over standard input and output."""
    from reprise_client.cli import remote

    instance = remote.connect(url, api_key, tries=2)
    try:
        from reprise_client.mcp import build
    except ModuleNotFoundError as missing:
        from reprise_client.errors import how_to_install

        raise CouldNotRun(f"This command needs more packages: {how_to_install('cli,mcp')}") from missing
    build(instance).run()
