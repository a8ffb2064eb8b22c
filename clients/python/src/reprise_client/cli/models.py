"""`reprise models`: the language models that prompts can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, url_option

COLUMNS = ("Model", "Vendor", "Prompt $", "Completion $", "State")


@click.group()
def models() -> None:
    """Language models that prompts and judges can use.

    Models on servers of your own are added on the page Settings, Models.
    """


@models.command("list")
@url_option
@key_option
@click.option("--all", "with_disabled", is_flag=True, help="Also models that the organization can't use.")
def list_models(url: str, api_key: str, with_disabled: bool) -> None:
    """Print a line for each model: name, vendor, prices of a million tokens in US dollars, and its state."""
    from reprise_client.cli import remote

    listed = remote.connect(url, api_key).get("/api/v1/models").listed("models")
    terminal.table(COLUMNS, [_row(model) for model in listed if model["enabled"] or with_disabled])


def _row(model: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    state = "default" if model["isDefault"] else "" if model["enabled"] else "disabled"
    return (model["name"], model["vendor"], f"{model['promptPrice']:g}", f"{model['completionPrice']:g}", state)
