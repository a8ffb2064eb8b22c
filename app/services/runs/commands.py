"""What a caller asks of a run, and gets at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from app.chat import File


@dataclass(frozen=True, slots=True)
class RunCommand:
    """`selections` maps a placeholder's key to the name of a value; `commit_hash` beats `productive`.

    `stream` has the answer's pieces kept for a while as the model writes them, for whoever follows the run.
    """

    prompt_id: int
    question: str
    files: tuple[File, ...] = ()
    selections: dict[str, str] = field(default_factory=dict)
    productive: bool = True
    commit_hash: str | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Idempotency:
    """An Idempotency-Key of an API key, and what it came with, both as SHA-256."""

    api_key_id: int
    key_digest: bytes
    body_digest: bytes

    @classmethod
    def of(cls, api_key_id: int, key: str, body: bytes) -> Idempotency:
        return cls(api_key_id, sha256(key.encode()).digest(), sha256(body).digest())


@dataclass(frozen=True, slots=True)
class Started:
    """A run that is committed. `joined`: an earlier request started it, its message is sent already."""

    run_id: int
    project_id: int
    joined: bool = False
