"""The commands of docs/webhooks.md work as the page shows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.deployment import EmbeddedServer
from tests.support.documents import read_document, run_blocks, shell_blocks
from tests.support.remote_project import RemoteProject


def test_the_commands_of_the_page_make_a_webhook_and_an_alert_rule(backend: EmbeddedServer, tmp_path: Path) -> None:
    administrator = RemoteProject.administering(backend)
    key = str(administrator.session.headers["Authorization"]).removeprefix("Bearer ")
    variables = {"BASE_URL": administrator.url, "API_KEY": key}
    webhook, rule = (
        json.loads(run_blocks([block], tmp_path, variables)) for block in shell_blocks(read_document("webhooks.md"))
    )
    assert webhook["secret"].startswith("whsec_")
    assert (rule["threshold"], rule["firingSince"]) == (0.1, None)
    assert administrator.ask("DELETE", f"/api/v1/webhooks/{webhook['id']}").status_code == 204
    assert administrator.ask("DELETE", f"/api/v1/alert-rules/{rule['id']}").status_code == 204
