"""Starts the programs of this installation as copies of this process, which are there at once and share its memory.

To import what a program consists of takes a second of a processor and most of its memory.
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
"""Other systems' libraries need not work in a copy."""
# Of <linux/prctl.h>: PR_SET_PDEATHSIG and PR_SET_NAME, which takes 15 bytes.
_SET_DEATH_SIGNAL, _SET_NAME, _NAME_BYTES = 1, 15, 15
_context = multiprocessing.get_context("fork")


def start(name: str, argv: Sequence[str], env: Mapping[str, str], *, copied: bool) -> BaseProcess:
    """Start a program in a process group of its own; `copied` as a copy of this process, else as a new one.

    On Linux the started process gets SIGTERM when this one ends, and `ps -e` and `top` call a copy "reprise NAME". A
    copy has none of this process's threads, signal handlers and exit handlers.
    """
    process = _context.Process(target=_begin, args=(name, argv, env, copied and COPIES), name=name)
    # A signal that arrives before the child has handlers of its own would be handled by those of this process.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # Here, too, as the group must be there for who ends it at once; the process may have got one by now, or ended.
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
    """Forget the handlers of the process that this one is a copy of.

    gunicorn has the number of each signal written to a descriptor, which would be another file from now on, such as the
    database.
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def run(argv: Sequence[str]) -> None:
    """Do what the command `argv` does: an installed one, or `python -m` and a module. It may end the process."""
    if argv[0] == "python":
        _, _, module, *arguments = argv
        sys.argv = [module, *arguments]
        sys.modules.pop(module, None)  # runpy warns of one that is imported already
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(argv)
        sys.exit(EntryPoint(argv[0], installed()[argv[0]], "console_scripts").load()())


@cache
def installed() -> Mapping[str, str]:
    """Return the function, as "module:name", of each command that this Python has installed."""
    return {entry.name: entry.value for entry in entry_points(group="console_scripts")}
