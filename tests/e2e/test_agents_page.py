"""Every command of docs/agents.md is executed here."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.ingest.test_recorded_instructions import PEOPLE, TEXT, later
from tests.support.documents import access, read_document, run_blocks, shell_blocks
from tests.support.exports import export
from tests.support.http_client import Client

BLOCKS = shell_blocks(read_document("agents.md"))


def test_the_page_adopts_an_agent_and_follows_its_changes(client: Client, tmp_path: Path) -> None:
    variables, listed, split, proposals, accept, adopt = BLOCKS
    sent = []
    for number, person in enumerate([*PEOPLE, {}]):
        text = TEXT.format(**person) if person else "A wholly other agent."
        (tmp_path / f"{number}.json").write_bytes(export(later(number, text)))
        address = '"${OTEL_EXPORTER_OTLP_TRACES_ENDPOINT:-$OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces}"'
        authorization = '-H "Authorization: ${OTEL_EXPORTER_OTLP_HEADERS#*=}"'
        sent.append(f'curl -sSf {authorization} -H "Content-Type: application/json" -d @{number}.json {address}\n')

    printed = run_blocks(
        [variables, *sent[:3], listed, split, proposals, accept, adopt, sent[3], adopt], tmp_path, access(client)
    )

    assert "shop-support\t" in printed
    assert "{{today}}\tdate, 2 in 3 sessions" in printed
    assert "has {{value}}, {{today}}, {{plan}}." in printed
    assert printed.count("Your program sends what the draft renders.") == 2
    assert "Your program sends another text since " in printed
    assert re.search(r"The newest instruction is the draft of prompt \d+\.\Z", printed.rstrip())
