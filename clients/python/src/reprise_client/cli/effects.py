"""`reprise test-cases effects`: what a model proposes for tools of which no one knows whether they write."""

from __future__ import annotations

import click
from reprise_formats.controls import visible

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, prompt_option, url_option

EFFECTS = ("read", "write", "by_call")


@click.command()
@url_option
@key_option
@prompt_option
@click.option("--confirm", "confirmed", multiple=True, metavar="TOOL", help="Save what is proposed for this tool.")
@click.option(
    "--set",
    "chosen",
    multiple=True,
    metavar="TOOL=EFFECT",
    help=f"Save this effect of a tool: {', '.join(EFFECTS)}. With by_call, the SQL, shell command or request decides.",
)
def effects(url: str, api_key: str, prompt_id: int, confirmed: tuple[str, ...], chosen: tuple[str, ...]) -> None:
    """Print a line for each effect that is proposed or set here: test case, tool, effect, state, reason.

    A call of a tool with an unknown effect counts as a write, unless its SQL, shell command or request only reads.
    """
    from reprise_client.cli import remote

    by_tool = dict(map(_chosen, chosen))
    instance = remote.connect(url, api_key)
    for case in instance.pages(f"/api/v1/prompts/{prompt_id}/test-cases", "testCases"):
        for tool, rules in case["tools"].items():
            proposal = rules.get("proposedEffect") or {}
            effect, state = proposal.get("effect"), "confirmed" if tool in confirmed else "proposed"
            if tool in by_tool:
                effect, state = by_tool[tool], "set"
            if not effect:
                continue
            if state != "proposed":
                instance.patch(f"/api/v1/test-cases/{case['id']}", {"tools": {tool: {"effect": effect}}})
            fields = (str(case["id"]), tool, effect, state, proposal.get("reason", ""))
            terminal.echo("\t".join(map(visible, fields)))


def _chosen(text: str) -> tuple[str, str]:
    tool, _, effect = text.rpartition("=")
    if not tool or effect not in EFFECTS:
        raise click.UsageError(f"--set {text}: must be TOOL=EFFECT, and EFFECT one of {', '.join(EFFECTS)}")
    return tool, effect
