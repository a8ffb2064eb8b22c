"""Forks as soon as it can, and has its child record a span. Ends with 0 if the child's span was sent."""

from __future__ import annotations

import os
import sys

from opentelemetry import trace
from reprise_client.instrumentation import instrument


def main(name: str) -> None:
    instrumentation = instrument(prompt=17)
    child = os.fork()
    if child == 0:
        trace.get_tracer("fork").start_span(name).end()
        os._exit(0 if instrumentation.flush(120) else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(sys.argv[1])
