"""`reprise models`: the language models that prompts can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.replay import connect, key_option, url_option

COLUMNS = ("Model", "Vendor", "Prompt $", "Completion $", "State")
PRICE = click.FloatRange(min=0)
TOKENS = click.IntRange(min=1)


@click.group()
def models() -> None:
    """Language models that prompts and judges can use."""


@models.command("list")
@url_option
@key_option
@click.option("--all", "with_disabled", is_flag=True, help="Also models that the organization can't use.")
def list_models(url: str, api_key: str, with_disabled: bool) -> None:
    """Print a line for each model: name, vendor, prices of a million tokens in US dollars, and its state."""
    listed = connect(url, api_key).get("/api/v1/models").listed("models")
    terminal.table(COLUMNS, [_row(model) for model in listed if model["enabled"] or with_disabled])


@models.command()
@click.argument("name")
@url_option
@key_option
@click.option("--base-url", "baseUrl", help="Of its server; by default that of the credential for own models.")
@click.option("--prompt-price", "promptPrice", type=PRICE, help="US dollars per million tokens; 0 by default.")
@click.option("--completion-price", "completionPrice", type=PRICE, help="Likewise, of what it answers.")
@click.option("--context-tokens", "contextTokensMax", type=TOKENS, help="It reads at most; 32768 by default.")
@click.option("--completion-tokens", "completionTokensMax", type=TOKENS, help="It answers at most; 4096 by default.")
def add(name: str, url: str, api_key: str, **options: Any) -> None:
    """Add a model of a server that speaks OpenAI's API, or change the one with this name.

    The key needs the scope admin.
    """
    given = {option: value for option, value in options.items() if value is not None}
    made = connect(url, api_key).post("/api/v1/models", {"name": name, **given})
    terminal.echo(f"{made['name']} can be used: {made['contextTokensMax']:,} tokens, {_prices(made)}.")


@models.command()
@click.argument("name")
@url_option
@key_option
def remove(name: str, url: str, api_key: str) -> None:
    """Remove a model that was added. Prompts that name it can't be run. The key needs the scopes admin and read."""
    api = connect(url, api_key)
    for model in api.get("/api/v1/models").listed("models"):
        if model["own"] and model["name"] == name:
            api.delete(f"/api/v1/models/{model['id']}")
            return
    raise CouldNotRun(f"No model named {name!r} was added. `reprise models list --all` shows all.")


def _prices(model: Mapping[str, Any]) -> str:
    prompt, completion = model["promptPrice"], model["completionPrice"]
    return f"${prompt:g} and ${completion:g} per million tokens" if prompt or completion else "no price"


def _row(model: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    state = "default" if model["isDefault"] else "" if model["enabled"] else "disabled"
    return (model["name"], model["vendor"], f"{model['promptPrice']:g}", f"{model['completionPrice']:g}", state)
