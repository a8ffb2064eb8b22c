"""Every command of docs/prompts-in-git.md is executed here, in its order; between them a person edits the file."""

from __future__ import annotations

import re
from pathlib import Path

from reprise_client.prompt_files import file as files

from tests.support.documents import read_document, run_blocks, shell_blocks, shop_variables
from tests.support.http_client import Client

PAGE = read_document("prompts-in-git.md")
PUBLISH = 'reprise prompts push prompts/support.md --commit "Merged"'
"""What the job `publish` does on the main branch after a merge."""
(EXAMPLE,) = re.findall(r"^```markdown\n(.*?)^```$", PAGE, re.M | re.S)


def judged(client: Client, prompt_id: str, experiment: dict[str, object] | None = None) -> str:
    """Return the fingerprint of the content that the newest experiment judges, or the one that is started here."""
    path = f"/api/v1/prompts/{prompt_id}/experiments"
    if experiment:
        assert client.post(path, experiment).status == 202
    found: str = client.get(path).json()["experiments"][0]["candidate"]["fingerprint"]
    return found


def test_the_page_leads_from_a_prompt_to_a_file_through_the_gate_and_back(client: Client, tmp_path: Path) -> None:
    variables = shop_variables(client)
    prompt_id = variables["PROMPT_ID"]
    pull, create, create_several, exchange, gate, bisect = shell_blocks(PAGE)
    exports = pull.splitlines()[0]

    def run(*blocks: str) -> str:
        return run_blocks(blocks, tmp_path, variables)

    file = tmp_path / "prompts" / "support.md"

    assert run(pull) == f"prompts/support.md is the draft of prompt {prompt_id}.\n"
    assert client.get(f"/api/v1/prompts/{run(exports, create).strip()}").json()["instructionFormat"] == "RAW"
    created = run(exports, create_several).splitlines()
    assert [line.partition(" is ")[0] for line in created] == [
        f"prompts/{name}.md" for name in ("refunds", "shop", "support")
    ]
    assert [line.endswith(" already.") for line in created] == [False, True, True]
    assert "nothing to commit" in run(exports, exchange)
    file.write_text(file.read_text().replace("customers", "customers briefly"))
    assert run(exports, gate).startswith("PASSED  1 test passes as often as with version ")
    assert (tmp_path / "gate.xml").exists()
    assert "It is committed as version" in run(exports, PUBLISH)
    (newest, _) = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"]
    assert newest["message"] == "Merged"
    assert judged(client, prompt_id) == judged(client, prompt_id, {"candidate": {"commitHash": newest["commitHash"]}})
    assert "fails no more often" in run(exports, bisect)


def test_the_file_that_is_shown_is_one_and_as_it_would_be_written() -> None:
    assert files.format_file(files.parse(EXAMPLE)) == EXAMPLE
