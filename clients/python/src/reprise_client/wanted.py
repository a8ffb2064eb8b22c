"""The prompt, and the version of it, that a caller asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reprise_client.errors import ConfigurationError

_LABEL = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class WantedVersion:
    """A prompt and the version of it that is asked for, by default the newest one.

    With `by_key` it is both versions of a label's split, so that any key finds its version without a request.
    """

    prompt_id: int
    label: str | None = None
    version: str | None = None
    draft: bool = False
    by_key: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.prompt_id, bool) or not isinstance(self.prompt_id, int) or self.prompt_id < 1:
            raise ConfigurationError(f"prompt_id: {self.prompt_id!r} is not the id of a prompt.")
        if (self.label is not None) + (self.version is not None) + self.draft > 1:
            raise ConfigurationError("Give a label, a version or draft, and no two of them.")
        if self.label is not None and (not _LABEL.fullmatch(self.label) or self.label in (".", "..")):
            raise ConfigurationError(f"label: {self.label!r} is not the name of a label.")
        if self.version is not None and not _HASH.fullmatch(self.version):
            raise ConfigurationError("version: a version has a commit hash of 64 hexadecimal digits.")

    def __str__(self) -> str:
        which = f"label {self.label}" if self.label else f"version {self.version[:8]}" if self.version else "newest"
        return f"prompt {self.prompt_id} ({'draft' if self.draft else which})"
