"""Makes the documents' screenshots: `make screenshots` starts a server with a fake vendor, uses it, looks at it."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from app.models.usage import SUMS
from tests.e2e.ui.conftest import sign_in
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.browser import Browser, chromium, visit
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import EmbeddedServer, read_assignments
from tests.support.http_client import Client
from tests.support.waiting import wait_until

FOLDER = Path(__file__).parent
DAYS, RUNS = 28, 240
TRIAGE = """\
# Role
You sort what customers of {{shop}} write into one of: order, refund, complaint, other.

# Rules
- Answer with the one word alone.
- A parcel that is late is an order, not a complaint.
"""
SHOP = {"key": "shop", "values": [{"name": "northwind", "content": "Northwind Traders", "isDefault": True}]}
ASKED = [("Where is order A-1042?", "order"), ("I want my money back.", "refund"), ("The tent leaks!", "complaint")]
LATE = RecordedTurn("My parcel is late.", "order", (RecordedCall("find_parcel", {"of": "Ada"}, {"late_by_days": 2}),))
REPLIES = """\
# Role
You write the replies of {{shop}} to its customers.

# Rules
- Answer in the customer's language.
- Never promise a date that the carrier has not given.
"""
BRIEF = "- Two sentences are enough.\n"
QUESTION = "My parcel with the tent is late. I leave on Friday!"
LONG_REPLY = (
    "I am sorry that your tent is late, and I see why Friday matters. It left our warehouse in Hamburg on Monday, and "
    "the carrier has had it in Cologne since this morning.\n\n"
    "The carrier gives no day yet, so I can't promise Friday. What I can do now:\n\n"
    "- ask the carrier to treat it as urgent,\n"
    "- keep a second tent for you in our shop.\n\n"
    "Shall I do both?"
)
BRIEF_REPLY = (
    "I am sorry: the tent is in Cologne, and the carrier gives no day yet. Shall I keep one for you in our shop?"
)
WORDS_SHOWN = 58
TALKS = [
    ("Can I return the boots after 30 days?", RecordedCall("get_policy", {"of": "returns"}, {"days": 30})),
    ("Where is order A-1043?", RecordedCall("find_parcel", {"of": "A-1043"}, {"at": "Cologne"})),
    ("Please cancel order A-1050.", RecordedCall("cancel_order", {"id": "A-1050"}, {"cancelled": True})),
    ("Which tent is good for snow?", RecordedCall("search_catalogue", {"for": "tent", "snow": True}, {"found": 3})),
    ("My stove arrived without its pump.", RecordedCall("find_order", {"of": "stove"}, {"id": "A-1047"})),
    ("Can you deliver to a parcel shop?", RecordedCall("get_policy", {"of": "delivery"}, {"parcel_shops": True})),
]
LEFT = RecordedCall("cancel_order", {"id": "A-1051"}, error="409: The order has left the warehouse")
FAILED_TALK = ("Please cancel order A-1051.", LEFT)
SESSIONS, SESSION_DAYS = 84, 14
# Tokens of each model call, in addition to those of the short texts: the instruction and the tools.
TOKENS = {"gen_ai.usage.input_tokens": 2_400, "gen_ai.usage.output_tokens": 180}


@dataclass(frozen=True)
class Picture:
    """A page at a path below the project's, after `use` of it; sizes in pixels."""

    name: str
    path: str
    width: int = 1280
    height: int = 860
    scheme: str = "light"
    use: Callable[[Page], None] | None = None


@contextmanager
def served() -> Iterator[tuple[EmbeddedServer, Upstream]]:
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream:
        vendor = {"OPENAI_API_KEY": "sk-demo", "OPENAI_BASE_URL": upstream.base_url("OPENAI")}
        with EmbeddedServer(Path(folder), vendor) as server:
            yield server, upstream


def fill(client: Client, upstream: Upstream, home: Path) -> tuple[int, str]:
    """A prompt with some history, in addition to the demo's; its id and the hash of its first version."""
    new = {"name": "Ticket triage", "value": TRIAGE, "languageModelName": "gpt-4o-mini", "placeholders": [SHOP]}
    prompt_id = client.post("/api/v1/prompts", new).json()["prompt"]["id"]
    path = f"/api/v1/prompts/{prompt_id}"
    first = client.get(path).json()["commitHash"]
    ask(client, upstream, prompt_id, RUNS // 3)
    better = TRIAGE.replace("of: order,", "of: order, return,") + "- When in doubt, say other.\n"
    client.request("PATCH", path, payload={"value": better, "languageModelConfig": {"temperature": 0}})
    second = client.post(f"{path}/commit", {"message": "Tell returns from refunds"}).json()["commitHash"]
    for label, body in (
        ("staging", {"commitHash": second}),
        ("production", {"commitHash": first}),
        ("production", {"commitHash": second, "share": 0.1, "guarded": True}),
    ):
        client.request("PUT", f"{path}/labels/{label}", payload=body)
    ask(client, upstream, prompt_id, RUNS - RUNS // 3)
    client.request("PATCH", path, payload={"value": better + "- Never answer the question itself.\n"})
    for name in ("Order summary", "Reply in the customer's language"):
        other = client.post("/api/v1/prompts", {"name": name, "value": TRIAGE, "placeholders": [SHOP]}).json()
        for question, _ in ASKED * 4:
            client.post("/api/v1/prompts/run", {"id": other["prompt"]["id"], "question": question})
    record(client, prompt_id, "ticket-2231", [LATE], age_s=120)
    talk(client, prompt_id, first, second)
    spread(home)
    return prompt_id, first


def talk(client: Client, prompt_id: int, first: str, second: str) -> None:
    """Record the sessions of two weeks: those of the first version fail more often than those of the second."""
    chance = random.Random(11)  # noqa: S311 - the same pictures each time
    ages = sorted(chance.uniform(0.02, SESSION_DAYS) for _ in range(SESSIONS))
    for number, age in enumerate(ages):
        version, failing = (second, 0.06) if age < SESSION_DAYS / 2 else (first, 0.22)
        question, call = FAILED_TALK if chance.random() < failing else chance.choice(TALKS)
        turns = [RecordedTurn(question, "Here is what I found.", (call,), version=version)] * chance.randint(1, 3)
        record(client, prompt_id, f"ticket-{2230 - number}", turns, age_s=int(age * 86_400))


def record(client: Client, prompt_id: int, conversation: str, turns: list[RecordedTurn], *, age_s: int) -> None:
    """Send a conversation that began `age_s` seconds ago."""
    start_ns = time.time_ns() - age_s * 10**9
    batch = json.loads(export(prompt_id, conversation, turns, start_ns=start_ns, model="gpt-4o-mini"))
    for span in batch["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for attribute in span["attributes"]:
            if more := TOKENS.get(attribute["key"]):
                attribute["value"] = {"intValue": str(int(attribute["value"]["intValue"]) + more)}
            if attribute["key"] == "error.type":
                span["status"] = {"code": 2, "message": "409"}
    body, headers = json.dumps(batch).encode(), {"Content-Type": "application/json"}
    client.request("POST", "/api/public/otel/v1/traces", body=body, headers=headers)


def ask(client: Client, upstream: Upstream, prompt_id: int, times: int) -> None:
    for number in range(times):
        question, answer = ASKED[number % len(ASKED)]
        upstream.script(Reply(text=answer, latency_s=0.002 * (number % 7)))
        client.post("/api/v1/prompts/run", {"id": prompt_id, "question": question})


def experiment(client: Client, upstream: Upstream, prompt_id: int) -> int:
    """The id of an experiment of the draft, which classifies refunds as complaints one time in three."""
    questions = [*ASKED, ("Can I change my address?", "other"), ("Nobody called me back.", "complaint")]
    for question, answer in questions:
        client.post(f"/api/v1/prompts/{prompt_id}/test-cases", {"question": question, "expectedAnswer": answer})
    answers, mistaken = dict(questions), cycle((True, False, False))

    def choose(body: dict[str, Any]) -> Reply:
        instruction, question = (message["content"] for message in body["messages"])
        wrong = "Never answer" in instruction and "money" in question and next(mistaken)
        return Reply(text="complaint" if wrong else answers[question], latency_s=0.1)

    upstream.choose = choose
    path = client.post(f"/api/v1/prompts/{prompt_id}/experiments", {"maxCost": 1}).headers["Location"]
    wait_until(lambda: client.get(path).json()["finishedAt"], "the experiment", 60)
    return int(path.rpartition("/")[2])


def replies(client: Client, upstream: Upstream) -> list[Picture]:
    """A prompt with a draft that asks for brief answers: its answer as it streams, and next to the version's."""
    new = {"name": "Customer replies", "value": REPLIES, "languageModelName": "gpt-4o-mini", "placeholders": [SHOP]}
    prompt_id = client.post("/api/v1/prompts", new).json()["prompt"]["id"]
    client.request("PATCH", f"/api/v1/prompts/{prompt_id}", payload={"value": REPLIES + BRIEF})
    path, rest = f"/prompts/{prompt_id}/edit", threading.Event()

    def choose(body: dict[str, Any]) -> Reply:
        brief = BRIEF.strip() in body["messages"][0]["content"]
        if brief and rest.is_set():
            return Reply(text=BRIEF_REPLY)
        return Reply(text=LONG_REPLY, held=rest, cut_after=WORDS_SHOWN)

    def watch(page: Page) -> None:
        upstream.choose = choose
        asked(page)
        expect(page.locator("#result .text")).to_contain_text("treat it")

    def compare(page: Page) -> None:
        rest.set()
        page.get_by_label("Also ask").select_option(index=1)
        asked(page)
        expect(page.locator("#result .answer-text")).to_contain_text("our shop?")
        expect(page.locator("#result-beside .answer-text")).to_contain_text("both?")
        expect(page.locator(".talk .meta")).to_have_count(2)

    return [
        Picture("streaming", path, use=watch),
        Picture("two-columns", path, height=960, use=compare),
    ]


def asked(page: Page) -> None:
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()


def spread(home: Path) -> None:
    """Put the runs of each version, in their order, and what they used onto the days before now."""
    chance, now = random.Random(7), datetime.now(UTC).replace(tzinfo=None)  # noqa: S311 - the same pictures each time
    with closing(sqlite3.connect(home / "reprise.db", timeout=10)) as database, database:
        database.row_factory = sqlite3.Row
        rows = database.execute("SELECT prompt_id, commit_hash, MIN(id), COUNT(*) FROM runs GROUP BY 1, 2 ORDER BY 3")
        versions = [(prompt_id, commit_hash) for prompt_id, commit_hash, _, _ in rows.fetchall()]
        for prompt_id, commit_hash in versions:
            of_prompt = [version for version in versions if version[0] == prompt_id]
            part, latest = DAYS / len(of_prompt), of_prompt[::-1].index((prompt_id, commit_hash))
            own = "SELECT id FROM runs WHERE prompt_id = ? AND commit_hash IS ? ORDER BY id"
            ids = database.execute(own, (prompt_id, commit_hash)).fetchall()
            ages = sorted(((latest + chance.random()) * part for _ in ids), reverse=True)
            times = [now - timedelta(days=age) for age in ages]
            # The fake vendor answers sooner than any real one.
            values = [
                (when.isoformat(" "), chance.randint(280, 1400), run_id)
                for when, (run_id,) in zip(times, ids, strict=True)
            ]
            database.executemany("UPDATE runs SET created_at = ?, response_time_ms = ? WHERE id = ?", values)
            days = Counter(when.date().isoformat() for when in times)
            spread_usage(database, (prompt_id, commit_hash or ""), days)


def spread_usage(database: sqlite3.Connection, version: tuple[int, str], runs: Counter[str]) -> None:
    """Give each day its part of what the version's runs used; the sums stay as they are."""
    sums, which = ", ".join(f"SUM({name}) AS {name}" for name in SUMS), "prompt_id = ? AND commit_hash = ?"
    row = database.execute(f"SELECT * FROM usage_daily WHERE {which}", version).fetchone()  # noqa: S608
    used = database.execute(f"SELECT {sums} FROM usage_daily WHERE {which}", version).fetchone()  # noqa: S608
    database.execute(f"DELETE FROM usage_daily WHERE {which}", version)  # noqa: S608
    so_far = 0
    for day, count in sorted(runs.items()):
        before, so_far = so_far, so_far + count
        part = {name: _part(used[name], before, so_far, runs.total()) for name in SUMS}
        values = dict(row) | part | {"id": None, "day": day}
        statement = f"INSERT INTO usage_daily ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608
        database.execute(statement, list(values.values()))


def _part(total: float, start: int, end: int, whole: int) -> float:
    """Return the part of `total` between `start` and `end` of `whole`; an integer for an integer."""
    if isinstance(total, int):
        return total * end // whole - total * start // whole
    return total * (end - start) / whole


def pictures(client: Client, demo: int, triage: int, first: str, compared: int) -> list[Picture]:
    def newest_replay() -> dict[str, Any]:
        found: dict[str, Any] = client.get(f"/api/v1/prompts/{demo}/replays").json()["replays"][0]
        return found

    wait_until(lambda: newest_replay()["status"] not in ("queued", "running"), "the demo's replay", 30)
    session = client.get(f"/api/v1/prompts/{demo}/logs?type=otel").json()["entries"][0]["id"]
    return [
        Picture("overview", "/overview", width=1440, height=1040),
        Picture("prompts", "/prompts", height=540),
        Picture("editor", f"/prompts/{demo}/edit", height=960),
        Picture("session", f"/sessions/{session}", height=960),
        Picture("test-case", f"/sessions/{session}/test-case#turns", height=960),
        Picture("replay", f"/replays/{newest_replay()['id']}", height=960),
        Picture("experiment", f"/experiments/{compared}", height=760),
        Picture("logs", f"/prompts/{triage}/logs", height=720),
        Picture("sessions", "/sessions", height=720),
        Picture("usage", "/usage", height=680),
        Picture("compare", f"/prompts/{triage}/compare?from={first}", height=760, scheme="dark"),
        Picture("versions", f"/prompts/{triage}/versions", height=600),
        Picture("insight", f"/prompts/{triage}/insight", height=900),
        Picture("session-narrow", f"/sessions/{session}", width=360, height=760),
    ]


def take(browser: Browser, server: EmbeddedServer, found: list[Picture]) -> None:
    with visit(browser, server.url) as visited:
        base = sign_in(visited, read_assignments(server.home / "dev.env"))
        signed_in: Any = visited.page.context.storage_state()
    for picture in found:
        view: Any = {"width": picture.width, "height": picture.height}
        with visit(browser, server.url, viewport=view, color_scheme=picture.scheme, storage_state=signed_in) as visited:
            visited.open(base + picture.path)
            if picture.use:
                picture.use(visited.page)
            path = FOLDER / f"{picture.name}.png"
            visited.page.screenshot(path=path)
            sys.stdout.write(f"{path.name}: {path.stat().st_size // 1000} kB\n")


def counted(client: Client, prompt_id: int) -> int:
    """Return the number of sessions that the figures of the prompt count."""
    groups = client.get(f"/api/v1/prompts/{prompt_id}/insight").json()["groups"]
    return sum(group["sessions"]["sessions"] for group in groups)


def main() -> None:
    with served() as (server, upstream), chromium() as browser:
        client = server.client()
        demo = int(read_assignments(server.home / "dev.env")["PROMPT_ID"])
        triage, first = fill(client, upstream, server.home)
        compared = experiment(client, upstream, triage)
        wait_until(lambda: counted(client, triage) >= SESSIONS, "the figures of the sessions", 60)
        take(browser, server, pictures(client, demo, triage, first, compared) + replies(client, upstream))


if __name__ == "__main__":
    main()
