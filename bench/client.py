"""Measures the time of a rendering in an application while the server is away: `python -m bench.client`.

A thread renders 100 times a second for `--seconds` with the server, then without it, then with it again. After each
rendering the thread computes a sum of about the same duration: when the sum is slower, another process is using the
processor. The thread's processor time of each rendering is measured, too.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reprise_client import Reprise

from tests.support.deployment import EmbeddedServer

A_SECOND = 100
GOAL_MS = 5.0
SUMMED = 3000
TEXT = "# Role\nBe {{tone}} & brief.\n# Rules\n" + "* Be helpful.\n" * 50
NEW = {
    "name": "Support",
    "value": TEXT,
    "placeholders": [{"key": "tone", "values": [{"name": "formal", "content": "formal", "isDefault": True}]}],
}


class Application(threading.Thread):
    """Renders until it is stopped; has the milliseconds of each rendering, of its computing, and of each sum."""

    def __init__(self, client: Reprise, prompt_id: int) -> None:
        super().__init__()
        self._client, self._prompt_id = client, prompt_id
        self._stopped = threading.Event()
        self.rendered_ms: list[float] = []
        self.computed_ms: list[float] = []
        self.summed_ms: list[float] = []
        self.states: Counter[str] = Counter()

    def run(self) -> None:
        while not self._stopped.wait(1 / A_SECOND):
            begun, computed = time.perf_counter(), time.thread_time()
            rendered = self._client.prompt(self._prompt_id).render(tone="formal")
            self.computed_ms.append((time.thread_time() - computed) * 1000)
            ended = time.perf_counter()
            self.rendered_ms.append((ended - begun) * 1000)
            sum(range(SUMMED))
            self.summed_ms.append((time.perf_counter() - ended) * 1000)
            self.states[rendered.state] += 1

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def line(name: str, times_ms: Sequence[float]) -> str:
    ordered = sorted(times_ms)
    slow = sum(time_ms > GOAL_MS for time_ms in ordered)
    return (
        f"{name:10} p50 {statistics.median(ordered):6.3f} ms   p99 {ordered[len(ordered) * 99 // 100]:6.3f} ms   "
        f"worst {ordered[-1]:6.3f} ms   over {GOAL_MS:g} ms: {slow} of {len(ordered)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server:
        api = server.client()
        prompt_id = api.post("/api/v1/prompts", NEW).json()["prompt"]["id"]
        client = Reprise(api.base_url, api.api_key, fresh_s=seconds / 10)
        client.prompt(prompt_id)
        application = Application(client, prompt_id)
        application.start()
        time.sleep(seconds)
        server.process.kill()
        time.sleep(seconds)
        server.process.restart()
        time.sleep(seconds)
        application.stop()
    print(line("rendering", application.rendered_ms))
    print(line("computing", application.computed_ms))
    print(line("sum", application.summed_ms))
    print("states    ", dict(application.states))


if __name__ == "__main__":
    main()
