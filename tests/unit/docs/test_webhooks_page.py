"""The code of docs/webhooks.md verifies what is sent, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.services.webhooks.deliveries import PAUSES_S
from app.webhooks.message import headers_of, new_secret
from tests.support.documents import read_document

PAGE = read_document("webhooks.md")
SECRET, BODY = new_secret(), '{"type":"webhook.test","data":{"name":"Größe"}}'
Verify = Callable[[str, dict[str, str], str], bool]


def block(language: str) -> str:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)[0]


def in_python(_folder: Path) -> Verify:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    return lambda secret, headers, body: names["verify"](secret, headers, body.encode())


def in_javascript(folder: Path) -> Verify:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    (folder / "verify.mjs").write_text(block("js"))
    program = "import {verify} from './verify.mjs'; console.log(verify(...JSON.parse(process.argv[1])))"
    command = [node, "--input-type=module", "--eval", program]

    def verify(*arguments: object) -> bool:
        done = subprocess.run([*command, json.dumps(arguments)], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip() == "true"

    return verify


@pytest.mark.slow
@pytest.mark.parametrize("language", [in_python, in_javascript])
def test_the_code_accepts_what_was_signed_now_with_the_secret(
    language: Callable[[Path], Verify], tmp_path: Path
) -> None:
    verify, now = language(tmp_path), datetime.now(UTC)
    headers = headers_of("msg_1", BODY.encode(), [new_secret(), SECRET], now)
    old = headers_of("msg_1", BODY.encode(), [SECRET], now - timedelta(minutes=6))
    assert verify(SECRET, headers, BODY)
    assert not verify(SECRET, headers, BODY.replace("test", "fake"))
    assert not verify(SECRET, headers | {"webhook-id": "msg_2"}, BODY)
    assert not verify(new_secret(), headers, BODY)
    assert not verify(SECRET, old, BODY)


def test_the_pauses_are_those_of_the_page() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    (sentence,) = re.findall(r"tried again after (.*?),\s+each", PAGE, re.S)
    pauses = [int(number) * units[unit] for number, unit in re.findall(r"(\d+)\s+(s|min|h)\b", sentence)]
    assert tuple(pauses) == PAUSES_S
