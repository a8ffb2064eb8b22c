"""One client serves threads, forked workers, and event loops that come and go."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reprise_client import AsyncReprise, Reprise, RepriseError

from tests.clients.python.fakes import API_KEY, FakeReprise
from tests.support.deployment import ROOT, environment
from tests.support.http_client import Client, serves
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, free_port, wait_until

# Answers with the prompt and the worker's process id.
PRELOADED = """
import os
from reprise_client import Reprise

client = Reprise(fresh_s=0.0)
client.prompt(17)


def application(environ, start_response):
    start_response("200 OK", [])
    return [f"{client.prompt(17).value} {os.getpid()}".encode()]
"""


def run_program(program: str, *arguments: str) -> str:
    """Return the output of a program that has the client, and that must end well."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python" / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_a_fork(work: Callable[[], bool]) -> None:
    """Run `work` in a forked child, which must end well and must have it return True."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_worker_fetches_although_its_parent_was_about_to(fake: FakeReprise, url: str) -> None:
    with Reprise(url, API_KEY, fresh_s=0.0, first_wait_s=60) as client:
        client.prompt(17)
        fake.held = threading.Event()
        client.prompt(17)  # its thread waits for the server, and is not in the child
        wait_until(lambda: len(fake.requests) == 2, "a request of the parent")

        def work() -> bool:
            return client.prompt(17).state == "stale" and bool(
                wait_until(lambda: client.prompt(17).value == "New.", "the new text")
            )

        fake.value = "New."
        threading.Timer(0.2, fake.held.set).start()
        in_a_fork(work)
        wait_until(lambda: client.prompt(17).value == "New.", "the new text in the parent")


def test_workers_of_gunicorn_share_a_client_that_was_made_before_them(
    fake: FakeReprise, url: str, tmp_path: Path
) -> None:
    (tmp_path / "application.py").write_text(PRELOADED)
    port, source = free_port(), ROOT / "clients" / "python" / "src"
    address = f"http://{LOOPBACK}:{port}"
    with ChildProcess(
        "gunicorn",
        [sys.executable, "-m", "gunicorn", "--preload", "--workers=2", f"--bind={LOOPBACK}:{port}", "application"],
        log=tmp_path / "gunicorn.log",
        env={**environment(tmp_path, {"REPRISE_URL": url, "REPRISE_API_KEY": API_KEY}), "PYTHONPATH": str(source)},
        cwd=tmp_path,
        ready=lambda: serves(address, "/"),
    ):
        assert len(fake.requests) >= 1
        fake.value = "New."
        seen: set[bytes] = set()

        def both_have_it() -> bool:
            seen.add(Client(address).get("/").body)
            return len([one for one in seen if one.startswith(b"New.")]) == 2

        wait_until(both_have_it, "the new text in both workers")


def test_a_thread_imports_nothing_that_a_forked_worker_would_wait_for(url: str, tmp_path: Path) -> None:
    program = """
        import sys
        from reprise_client import Reprise
        url = sys.argv[1].replace("127.0.0.1", "localhost")
        client = Reprise(url, "rp_key", cache_dir=sys.argv[2], first_wait_s=60)
        before = set(sys.modules)
        print(client.prompt(17).state, sorted(set(sys.modules) - before))
    """
    printed = run_program(program, url, str(tmp_path))

    assert printed == "fresh []\n"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_lock_that_a_thread_held_at_the_fork_blocks_no_worker(url: str) -> None:
    with Reprise(url, API_KEY, first_wait_s=60) as client, client._lock, client._workers._lock, client._transport._lock:
        in_a_fork(lambda: client.prompt(17).state == "fresh")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_parent_and_workers_share_no_connection(url: str) -> None:
    with Reprise(url, API_KEY, first_wait_s=60) as client:
        client.prompt(17)
        parents = client._transport._client
        in_a_fork(lambda: client.prompt(18).state == "fresh" and client._transport._client is not parents)
        assert client.prompt(19).state == "fresh"
        assert client._transport._client is parents


def test_threads_get_whole_prompts_while_they_change(fake: FakeReprise, url: str) -> None:
    ended = threading.Event()

    def read() -> set[str]:
        seen = set()
        while not ended.is_set():
            seen.add(client.prompt(17).render(tone="formal").instruction)
        return seen

    with Reprise(url, API_KEY, fresh_s=0.0, first_wait_s=60) as client, ThreadPoolExecutor(8) as pool:
        client.prompt(17)
        readers = [pool.submit(read) for _ in range(8)]
        for number in range(5):
            fake.value = f"{number} {{{{tone}}}} {number}"
            wait_until(lambda: client.prompt(17).value == fake.value, "the new text")
        ended.set()
        seen = set().union(*(reader.result() for reader in readers))

    assert seen - {"Be formal."} <= {f"{number} formal {number}" for number in range(5)}


def test_ids_from_outside_do_not_fill_the_memory(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise_client.cache.ENTRIES_MAX", 5)
    with Reprise(url, API_KEY, first_wait_s=60) as client:
        for number in range(1, 12):
            client.prompt(1)
            client.prompt(number)

        assert len(client._cache._entries) == 5
        assert client.prompt(1).state == "fresh"


def test_a_client_without_references_is_forgotten(url: str) -> None:
    client = Reprise(url, API_KEY, first_wait_s=60)
    client.prompt(17)
    client.close()
    forgotten = weakref.ref(client)

    del client

    wait_until(lambda: gc.collect() is not None and forgotten() is None, "the end of the client")


def test_one_client_serves_one_event_loop_after_the_other(fake: FakeReprise, url: str) -> None:
    client = AsyncReprise(url, API_KEY, fresh_s=0.0, first_wait_s=60)

    async def changed(value: str) -> None:
        fake.value = value
        while (await client.prompt(17)).value != value:
            await asyncio.sleep(0.01)

    for number in range(3):
        asyncio.run(changed(f"text {number}"))

    assert len(client._loops) == 1


def test_one_client_serves_event_loops_in_threads(fake: FakeReprise, url: str) -> None:
    client, fake.held = AsyncReprise(url, API_KEY, first_wait_s=60), threading.Event()

    async def first() -> str:
        async with client:
            return (await client.prompt(17)).state

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(lambda: asyncio.run(first())) for _ in range(4)]
        wait_until(lambda: len(fake.requests) == 4, "a request of each loop")
        fake.held.set()
        assert [future.result() for future in waiting] == ["fresh"] * 4


def test_cancelling_a_caller_does_not_cancel_the_request_of_others(fake: FakeReprise, url: str) -> None:
    async def work() -> str:
        async with AsyncReprise(url, API_KEY, first_wait_s=60) as client:
            fake.held = threading.Event()
            cancelled, waiting = (asyncio.create_task(client.prompt(17)) for _ in range(2))
            while not fake.requests:
                await asyncio.sleep(0.01)
            cancelled.cancel()
            fake.held.set()
            return (await waiting).state

    assert asyncio.run(work()) == "fresh"
    assert len(fake.requests) == 1


def test_the_loop_is_free_while_a_prompt_is_fetched(fake: FakeReprise, url: str) -> None:
    async def work() -> bool:
        async with AsyncReprise(url, API_KEY, first_wait_s=60) as client:
            fake.held = threading.Event()
            waiting = asyncio.create_task(client.prompt(17))
            while not fake.requests:
                await asyncio.sleep(0)
            free = not waiting.done()
            fake.held.set()
            await waiting
            return free

    assert asyncio.run(work())


def test_a_program_ends_while_a_prompt_is_fetched(fake: FakeReprise, url: str) -> None:
    fake.held = threading.Event()
    program = """
        import atexit, sys
        from reprise_client import Reprise
        client = Reprise(sys.argv[1], "rp_key", first_wait_s=0.0, fresh_s=0.0)
        print(client.prompt(17, fallback="bundled").state)
        atexit.register(lambda: print(client.prompt(18, fallback="bundled").state))
    """
    printed = run_program(program, url)
    fake.held.set()

    assert printed.split() == ["fallback", "fallback"]


def test_what_fails_unexpectedly_reaches_no_caller(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("reprise_client.client.read", broken)
    caplog.set_level(logging.CRITICAL)
    with Reprise(url, API_KEY, first_wait_s=60) as client:
        assert client.prompt(17, fallback="bundled").state == "fallback"
        with pytest.raises(RepriseError, match="ZeroDivisionError"):
            client.prompt(17)
