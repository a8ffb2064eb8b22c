"""Records spans, numbered, as fast as it may, until its input ends. Run by tests, which kill it."""

from __future__ import annotations

import sys
from itertools import count
from threading import Thread

from opentelemetry import trace
from reprise_client.instrumentation import instrument


def main(name: str) -> None:
    instrument(prompt=17)
    waiting = Thread(target=sys.stdin.read)
    waiting.start()
    for number in count():
        if not waiting.is_alive():
            return
        trace.get_tracer("busy").start_span(f"{name} {number}").end()
        waiting.join(0.001)


if __name__ == "__main__":
    main(sys.argv[1])
