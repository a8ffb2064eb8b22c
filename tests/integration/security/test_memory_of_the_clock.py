"""Hostile turns once had the clock killed: their index and fingerprints needed more memory than the manifests give."""

from __future__ import annotations

import base64
import random
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

import pytest
from sqlalchemy import select

from app.models.session_fingerprints import session_fingerprints
from app.suites.fingerprints import load
from tests.integration.security.test_words_of_hostile_traces import say
from tests.integration.suites.sending import send, turn
from tests.support.backends import empty_servers
from tests.support.deployment import ROOT, environment
from tests.support.world import new_world, running, settings_for

TURNS, TEXTS, TEXT = 130, 5, 200_000
LONG_TEXTS, LONG_WORDS = 32, 800_000
CLOCK = """
from app.models import search
from app.process import clock
from app.process.bootstrap import bootstrap, freeze_gc, start

container = bootstrap(start("clock"))
freeze_gc()
for job in clock.jobs(container):
    job.run()
indexer = container.services.search_indexer
while True:
    with container.database.read() as connection:
        if not search.waiting_projects(connection):
            break
    indexer.sweep()
print(open("/proc/self/status").read())
"""
FINGERPRINTS = """
import sys
from app.process import clock
from app.process.bootstrap import bootstrap, freeze_gc, start

container, project_id = bootstrap(start("clock")), int(sys.argv[1])
freeze_gc()
for job in clock.jobs(container):
    job.run()
while container.services.insight_counter.count(project_id):
    pass
while container.services.fingerprint_maker.make_some(project_id):
    pass
print(open("/proc/self/status").read())
"""
NUMBERS = random.Random(1)


def files() -> str:
    return base64.b64encode(NUMBERS.randbytes(TEXT * 3 // 4)).decode()


def uuids() -> str:
    return " ".join(str(uuid.UUID(int=NUMBERS.getrandbits(128))) for _ in range(TEXT // 37))


def words() -> str:
    return " ".join(f"{NUMBERS.getrandbits(40):x}" for _ in range(TEXT // 11))


def pairs(characters: int = TEXT) -> str:
    return "".join(map(chr, NUMBERS.choices(range(0x4E00, 0x9FFF), k=characters)))


CONTENTS: list[Callable[[], str]] = [files, uuids, words]


def limits_mib() -> list[int]:
    """Return what the manifests of Kubernetes and of Compose give the clock."""
    pod = (ROOT / "deploy/kubernetes/clock.yaml").read_text()
    service = (ROOT / "deploy/compose.yaml").read_text().split("\n  clock:\n")[1].split("\n\n")[0]
    return [
        int(re.search(r"limits: \{memory: (\d+)Mi\}", pod)[1]),  # type: ignore[index]
        int(re.search(r"mem_limit: (\d+)m", service)[1]),  # type: ignore[index]
    ]


@pytest.mark.services
def test_the_clock_indexes_hostile_turns_within_the_memory_of_its_manifests(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with empty_servers(request) as urls:
        with running(settings_for(tmp_path, **urls)) as container:
            world = new_world(container)
            prompt_id = world.prompt()
            for content in (*islice(cycle(CONTENTS), TURNS), pairs):
                say(world, prompt_id, *(content() for _ in range(TEXTS)))
            # A turn of 160 MB that is stored as a few kilobytes.
            for number in range(1, LONG_TEXTS + 1):
                say(world, prompt_id, f"word{number} " * LONG_WORDS, trace_id="c" * 32, span_id=f"{number:016x}")
        peak_mib = peak_of(CLOCK, tmp_path, urls)
    assert peak_mib < min(limits_mib())


@pytest.mark.services
def test_the_clock_makes_the_fingerprint_of_a_long_conversation_within_the_memory_of_its_manifests(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """60 messages of an end user, of 20,000 Chinese characters each: 1.2 million words."""
    with empty_servers(request) as urls:
        with running(settings_for(tmp_path, **urls)) as container:
            world = new_world(container)
            send(world, world.prompt(), "c", [turn(pairs(20_000)) for _ in range(60)])
        peak_mib = peak_of(FINGERPRINTS, tmp_path, urls, world.project_id)
        with running(settings_for(tmp_path, **urls)) as container, container.database.read() as connection:
            (written,) = connection.scalars(select(session_fingerprints.c.fingerprint))
    fingerprint = load(written)
    assert (fingerprint.language, fingerprint.lacks) == ("zh", ())
    assert peak_mib < min(limits_mib())


def peak_of(program: str, folder: Path, urls: dict[str, str], *arguments: object) -> int:
    """Return the most memory of a clock that runs a program, in MiB."""
    settings = {"DATABASE_URL": urls["mysql_url"], "REDIS_URL": urls["redis_url"], "REPRISE_SECRET_KEY": "test"}
    ended = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment(folder, settings),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:] + ended.stdout[-2000:]
    peak_mib = int(ended.stdout.partition("VmHWM:")[2].split()[0]) // 1024
    print(f"The clock's process had at most {peak_mib} MiB.")
    return peak_mib
