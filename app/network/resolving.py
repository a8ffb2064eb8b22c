"""Looks up the addresses of names, with a deadline: the system's resolver has none, and may wait for half a minute."""

from __future__ import annotations

import socket
from concurrent.futures import Future
from threading import Thread


def lookup(host: str, port: int) -> Future[list[str]]:
    """Begin to look up the addresses of a host.

    Each name has a separate thread, so that a DNS server that does not answer delays no other name. The thread ends
    when the resolver gives up, also if its caller waits no longer.
    """
    future = Future[list[str]]()
    future.set_running_or_notify_cancel()  # a caller that waits no longer does not cancel what will have a result
    Thread(target=_look_up, args=(future, host, port), name="lookup", daemon=True).start()
    return future


def _look_up(future: Future[list[str]], host: str, port: int) -> None:
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        future.set_exception(error)
    else:
        future.set_result([str(address[0]) for *_, address in results])
