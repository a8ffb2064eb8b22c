"""The Python client of Reprise.

Names are imported when they are first used: commands and the server need modules of this package, and no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprise_client.async_client import AsyncReprise
    from reprise_client.client import Reprise
    from reprise_client.errors import (
        ApiError,
        AuthenticationError,
        ConfigurationError,
        ConflictError,
        ForbiddenError,
        InvalidRequestError,
        NotFoundError,
        RateLimitedError,
        RepriseError,
        RunTimeoutError,
        ServerError,
        UnreachableError,
    )
    from reprise_client.instrumentation import instrument as instrument
    from reprise_client.prompts import Prompt, Rendered
    from reprise_client.runs import File, Piece, RunResult
    from reprise_client.text_files import prompt_text

__version__ = "0.2.0"

__all__ = [
    "ApiError",
    "AsyncReprise",
    "AuthenticationError",
    "ConfigurationError",
    "ConflictError",
    "File",
    "ForbiddenError",
    "InvalidRequestError",
    "NotFoundError",
    "Piece",
    "Prompt",
    "RateLimitedError",
    "Rendered",
    "Reprise",
    "RepriseError",
    "RunResult",
    "RunTimeoutError",
    "ServerError",
    "UnreachableError",
    "prompt_text",
]

_MODULES = {
    "AsyncReprise": "async_client",
    "File": "runs",
    "Piece": "runs",
    "Prompt": "prompts",
    "Rendered": "prompts",
    "Reprise": "client",
    "RunResult": "runs",
    "prompt_text": "text_files",
    # Not in __all__, as it needs the packages of an extra.
    "instrument": "instrumentation",
}


def __getattr__(name: str) -> Any:
    if name not in __all__ and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
