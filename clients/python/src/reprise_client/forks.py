"""What a process must not be in the middle of when it forks."""

import os
import threading

forks_wait = threading.RLock()
"""Held while an HTTP client is made: of one that is forked meanwhile, a child waits for OpenSSL's locks for ever."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=forks_wait.acquire, after_in_parent=forks_wait.release, after_in_child=forks_wait.release
    )
