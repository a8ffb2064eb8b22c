"""`reprise agents`: agents that send traces by their name, and what their traces record of the instruction."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, prompt_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote

VALUES_SHOWN = 3
_VALUE_MAX = 60


@click.group()
def agents() -> None:
    """Agents that send traces by their name, each with its prompt.

    Exit code 0: done. 1: the program sends another text, or a proposal is no longer made. 2: could not run.
    """


@agents.command("list")
@url_option
@key_option
def list_agents(url: str, api_key: str) -> None:
    """Print a line for each agent: its name, the id of its prompt, and when a trace filled the prompt's draft."""
    from reprise_client.cli import remote

    for agent in remote.connect(url, api_key).get("/api/v1/agents").listed("agents"):
        terminal.echo(f"{agent['name']}\t{agent['promptId']}\t{agent['adoptedAt'] or ''}")


@agents.command()
@click.argument("name")
@url_option
@key_option
def prompt(name: str, url: str, api_key: str) -> None:
    """Print the id of the prompt of the agent NAME."""
    from reprise_client.cli import remote

    terminal.echo(str(prompt_of(remote.connect(url, api_key), name)))


def prompt_of(instance: Remote, name: str) -> int:
    """Return the id of an agent's prompt; raises `CouldNotRun` if no trace of the agent has arrived."""
    from reprise_client.cli.failures import CouldNotRun

    for agent in instance.get("/api/v1/agents").listed("agents"):
        if agent["name"] == name:
            return int(agent["promptId"])
    raise CouldNotRun(f"No agent {name!r} has sent a trace. `reprise traces wait --agent {name}` shows why.")


@agents.command()
@url_option
@key_option
@prompt_option
def instruction(url: str, api_key: str, prompt_id: int) -> None:
    """Compare the instruction that traces bring with the prompt, and print placeholders for what varies in it.

    Exit code 0: the draft or a version renders it. 1: the program sends another text. 2: could not run.
    """
    from reprise_client.cli import remote

    report = remote.connect(url, api_key).get(f"/api/v1/prompts/{prompt_id}/recorded-instruction")
    for line in _lines(report, report.listed("placeholderProposals")):
        terminal.echo(line)
    sys.exit(bool(report["differs"]))


@agents.command()
@url_option
@key_option
@prompt_option
def adopt(url: str, api_key: str, prompt_id: int) -> None:
    """Make the newest recorded instruction the draft. It keeps the draft's placeholders."""
    from reprise_client.cli import remote

    remote.connect(url, api_key).post(f"/api/v1/prompts/{prompt_id}/recorded-instruction/adopt")
    terminal.echo(f"The newest instruction is the draft of prompt {prompt_id}.")


@agents.command()
@click.argument("proposals", metavar="ID[=KEY]...", nargs=-1, required=True)
@url_option
@key_option
@prompt_option
def accept(proposals: tuple[str, ...], url: str, api_key: str, prompt_id: int) -> None:
    """Put placeholders into the draft in place of proposed parts, by ids that `reprise agents instruction` prints.

    The values that sessions had become named values of the placeholder.
    """
    from reprise_client.cli import remote
    from reprise_client.cli.failures import CouldNotRun

    pairs = (proposal.partition("=") for proposal in proposals)
    choices = [{"id": id_} | ({"key": key} if key else {}) for id_, _, key in pairs]
    path = f"/api/v1/prompts/{prompt_id}/recorded-instruction/placeholders"
    try:
        prompt = remote.connect(url, api_key).post(path, {"accept": choices})
    except CouldNotRun as error:
        if error.status == 409:
            raise click.ClickException(error.message) from error
        raise
    keys = ", ".join(f"{{{{{definition['key']}}}}}" for definition in prompt.listed("placeholderDefinitions"))
    terminal.echo(f"The draft of prompt {prompt_id} has {keys}.")


def _lines(report: dict[str, Any], proposals: list[Any]) -> Iterator[str]:
    if report["instruction"] is None:
        yield "No session has recorded an instruction. Switch on the recording of message contents."
    elif report["differs"]:
        yield f"Your program sends another text since {report['since']}: `reprise agents adopt` makes it the draft."
    elif report["matches"] == "draft":
        yield "Your program sends what the draft renders."
    else:
        yield f"Your program sends what version {report['matches'][:8]} renders."
    for proposal in proposals:
        yield _line(proposal)


def _line(proposal: dict[str, Any]) -> str:
    values = [_short(value["content"]) for value in proposal["values"][:VALUES_SHOWN]]
    count = len(proposal["values"]) + proposal["valuesLeftOut"]
    kind = "a change of the text" if proposal["isChange"] else proposal["kind"]
    listed = ", ".join(values) + (", …" if count > VALUES_SHOWN else "")
    return f"{proposal['id']}\t{{{{{proposal['key']}}}}}\t{kind}, {count} in {proposal['sessions']} sessions: {listed}"


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _VALUE_MAX].split())
    return repr(line if len(line) <= _VALUE_MAX else line[: _VALUE_MAX - 1] + "…")
