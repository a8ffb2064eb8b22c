"""Writes what it is into a file and ends with the status 3; or sleeps: `python -m tests.support.self_report FILE`."""

import atexit
import json
import os
import signal
import sys
import time
from pathlib import Path

# A new interpreter may have a handler of Ctrl-C, which does not reach the group of a child.
SIGNALS = signal.valid_signals() - {signal.SIGINT}


def main() -> None:
    if sys.argv[1] == "sleep":
        time.sleep(600)
    file = Path(sys.argv[1])
    facts = {
        "pid": os.getpid(),
        "group": os.getpgrp(),
        "name": Path("/proc/self/comm").read_text().strip(),
        "has_pytest": "pytest" in sys.modules,
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "handled": [number for number in SIGNALS if callable(signal.getsignal(number))],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    }
    file.write_text(json.dumps(facts))
    atexit.register(file.with_name("exit handler").touch)
    sys.exit(3)


if __name__ == "__main__":
    main()
