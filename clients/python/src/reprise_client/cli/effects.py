"""`reprise test-cases effects`: what a model proposes for tools of which no one knows whether they write."""

from __future__ import annotations

import click
from reprise_formats.controls import visible

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, prompt_option, url_option


@click.command()
@url_option
@key_option
@prompt_option
@click.option("--confirm", "confirmed", multiple=True, metavar="TOOL", help="Save what is proposed for this tool.")
def effects(url: str, api_key: str, prompt_id: int, confirmed: tuple[str, ...]) -> None:
    """Print a line for each effect that a model proposes: test case, tool, effect, state, reason.

    Such a tool counts as one that writes until you confirm that it reads.
    """
    from reprise_client.cli import remote

    instance = remote.connect(url, api_key)
    for case in instance.pages(f"/api/v1/prompts/{prompt_id}/test-cases", "testCases"):
        for tool, rules in case["tools"].items():
            if not (proposal := rules.get("proposedEffect")):
                continue
            state = "proposed"
            if tool in confirmed:
                rules = {tool: {"effect": proposal["effect"]}}
                instance.patch(f"/api/v1/test-cases/{case['id']}", {"tools": rules})
                state = "confirmed"
            fields = (str(case["id"]), tool, proposal["effect"], state, proposal["reason"])
            terminal.echo("\t".join(map(visible, fields)))
