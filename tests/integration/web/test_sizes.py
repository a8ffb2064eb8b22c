"""Pages on which people read much data are small on the line: below 100 KB, compressed."""

from __future__ import annotations

import random
import time

from tests.integration.web.conftest import HTML, Browser
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.world import World

pytestmark = EMBEDDED_CONTAINER
BYTES_MAX = 100_000
TURNS, PROMPTS = 100, 60


def words(count: int, seed: int) -> str:
    """Text that compresses about as well as prose."""
    chance = random.Random(seed)
    known = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(800)]
    return " ".join(chance.choices(known, k=count))


def test_pages_over_much_data_are_below_100_kb(world: World, admin: Browser) -> None:
    for number in range(PROMPTS):
        made = world.post("/api/v1/prompts", json={"name": f"Prompt {number}", "value": words(3_000, number)}).json
    prompt_id = made["prompt"]["id"]
    turns = [
        RecordedTurn(words(80, 1000 + turn), words(200, turn), (RecordedCall("find", {"q": words(9, turn)}, turn),))
        for turn in range(TURNS)
    ]
    assert world.send(export(prompt_id, "long", turns, start_ns=time.time_ns() - 10**12)).status_code == 200
    session = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"]
    case = world.post(f"/api/v1/sessions/{session}/test-cases").json["id"]
    prompt = f"/prompts/{prompt_id}"
    pages = ["/prompts", "/sessions", "/usage?days=365", f"/sessions/{session}", f"/sessions/{session}/test-case"]
    pages += [f"/test-cases/{case}"]
    pages += [f"{prompt}/{name}" for name in ("edit", "versions", "logs", "test-cases", "experiments", "compare")]

    sizes = {page: compressed(admin, page) for page in pages}

    assert {page: size for page, size in sizes.items() if size > BYTES_MAX} == {}


def compressed(admin: Browser, page: str) -> int:
    """The bytes that a browser gets for the page."""
    headers = HTML | {"Accept-Encoding": "gzip"}
    answer = admin.world.client.simulate_get(f"{admin.base}{page}", headers=headers, cookies=admin.cookies)
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip"), page
    return len(answer.content)
