"""Starts the programs of this installation as forks of this process, which start immediately and share its memory.

The imports of a program cost a second of CPU time and most of its memory.
"""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from multiprocessing.process import BaseProcess

COPIES = sys.platform == "linux"
"""On other systems the libraries are not sure to work after a fork."""
# From <linux/prctl.h>: PR_SET_PDEATHSIG, PR_SET_NAME, and the longest name in bytes.
_SET_DEATH_SIGNAL, _SET_NAME, _NAME_BYTES = 1, 15, 15
_context = multiprocessing.get_context("fork")


def start(name: str, argv: Sequence[str], env: Mapping[str, str], *, copied: bool) -> BaseProcess:
    """Start a program in a new process group; `copied` as a copy of this process, else as a new process.

    On Linux the started process gets SIGTERM when this process ends, and `ps -e` and `top` show a copy as "reprise
    NAME". A copy has none of this process's threads, signal handlers and exit handlers.
    """
    process = _context.Process(target=_begin, args=(name, argv, env, copied and COPIES), name=name)
    # A signal that reaches the child before it has set its handlers would run the handlers of this process.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # The child sets its group, too. Here it is set so that a caller can kill the group as soon as this function
    # returns.
    with suppress(OSError):
        os.setpgid(process.pid or 0, 0)
    return process


def _begin(name: str, argv: Sequence[str], env: Mapping[str, str], copied: bool) -> None:
    os.setpgid(0, 0)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
        if copied:
            libc.prctl(_SET_NAME, f"reprise {name}".encode()[:_NAME_BYTES])
    forget_signals()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if not copied:
        os.execvpe(argv[0], list(argv), env)  # noqa: S606 - the commands of our own Procfile
    os.environ.clear()
    os.environ.update(env)
    atexit._clear()
    try:
        run(argv)
    finally:
        atexit._run_exitfuncs()  # multiprocessing ends processes without them


def forget_signals() -> None:
    """Reset the signal handlers that a copy has from its original.

    gunicorn lets Python write the number of each signal to a file descriptor. In a copy that descriptor may become
    another file, such as the database.
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def run(argv: Sequence[str]) -> None:
    """Run the command `argv`, an installed one or `python -m` and a module, in this process, which it may end."""
    if argv[0] == "python":
        _, _, module, *arguments = argv
        sys.argv = [module, *arguments]
        sys.modules.pop(module, None)  # runpy warns of a module that is already imported
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(argv)
        sys.exit(EntryPoint(argv[0], installed()[argv[0]], "console_scripts").load()())


@cache
def installed() -> Mapping[str, str]:
    """Return the function ("module:name") of each command that is installed in this Python."""
    return {entry.name: entry.value for entry in entry_points(group="console_scripts")}
