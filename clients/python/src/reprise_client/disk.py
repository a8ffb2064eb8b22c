"""Copies of prompts in a folder, for when the server is away at the start of a process.

A file begins with an HMAC of its content, made with the API key: what is damaged, of another project or server, or
written by somebody without the key is no copy.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import os
import threading
import time
from pathlib import Path

from reprise_client.connection import Connection
from reprise_client.records import PromptVersions, Record, parse_object
from reprise_client.wanted import WantedVersion

log = logging.getLogger("reprise_client")

FILE_MAX = 64_000_000
_FORMAT = 1


class DiskCache:
    """The copies of one connection. No method raises: a folder that fails is logged once, and then has no copies."""

    def __init__(self, folder: Path, connection: Connection) -> None:
        self._folder = folder
        self._base_url = connection.base_url
        self._key = connection.api_key.encode()
        self._complained = False

    def load(self, wanted: WantedVersion) -> tuple[PromptVersions, float] | None:
        """Return the copy and its age in seconds, or None."""
        try:
            with self._path(wanted).open("rb") as file:
                mac, _, content = file.read(FILE_MAX).partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as problem:
            self._complain(problem)
            return None
        if not hmac.compare_digest(mac, self._mac(wanted, content)):
            return None
        try:
            return _stored_versions(content, wanted.prompt_id)
        except (ValueError, KeyError, TypeError):
            return None

    def save(self, wanted: WantedVersion, versions: PromptVersions) -> None:
        """Write the copy as a whole: a reader sees the old one or the new one."""
        content = _content(versions)
        path = self._path(wanted)
        temporary = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)  # of a process that died, or a link that another user put there
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(self._mac(wanted, content) + b"\n" + content)
            temporary.replace(path)
        except OSError as problem:
            self._complain(problem)
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _path(self, wanted: WantedVersion) -> Path:
        return self._folder / f"{self._mac(wanted, b'name').decode()[:40]}.prompt"

    def _mac(self, wanted: WantedVersion, content: bytes) -> bytes:
        """Return the hexadecimal HMAC of a content and of what it is a copy of."""
        about = json.dumps([_FORMAT, self._base_url, repr(wanted)]).encode()
        return hmac.new(self._key, about + b"\0" + content, hashlib.sha256).hexdigest().encode()

    def _complain(self, problem: OSError) -> None:
        if not self._complained:
            log.warning("cache_dir: prompts are not kept on disk: %s", problem)
        self._complained = True


def _content(versions: PromptVersions) -> bytes:
    records = [record.body for record in (versions.record, versions.split) if record is not None]
    stored = {"records": records, "etag": versions.etag, "share": versions.share, "storedAt": time.time()}
    return json.dumps(stored).encode()


def _stored_versions(content: bytes, prompt_id: int) -> tuple[PromptVersions, float]:
    stored = parse_object(content)
    first, *others = (Record.parse(body, prompt_id) for body in stored["records"])
    versions = PromptVersions(first, stored["etag"], others[0] if others else None, stored["share"])
    return versions, max(0.0, time.time() - stored["storedAt"])
