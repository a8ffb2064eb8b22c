"""Sets a process up to send its spans to Reprise."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider

from reprise_client.instrumentation.automatic import start_installed
from reprise_client.instrumentation.content import set_captured
from reprise_client.instrumentation.delivery import Delivery
from reprise_client.instrumentation.endpoint import TraceEndpoint
from reprise_client.instrumentation.processor import FLUSH_S, RepriseSpanProcessor
from reprise_client.instrumentation.spool import Limits, Spool

logger = logging.getLogger("reprise_client.instrumentation")

# At the SDK's own limit of 128 a span loses its oldest attributes: the conversation's.
_MAX_ATTRIBUTES = 2000
_lock = threading.Lock()
_current: Instrumentation | None = None


class _Provider(Protocol):
    def add_span_processor(self, span_processor: SpanProcessor) -> None: ...


@dataclass
class Instrumentation:
    """The sender of this process's spans. `url` is the address, None where nothing is sent."""

    url: str | None = None
    processor: RepriseSpanProcessor | None = None

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Return whether all spans that have ended are stored; what is not stays on disk."""
        return self.processor is None or self.processor.force_flush(int(timeout_s * 1000))

    def shutdown(self) -> None:
        """Send what can be sent within five seconds, and end. The end of the process does this, too."""
        global _current
        if self.processor is not None:
            self.processor.shutdown()  # type: ignore[no-untyped-call]
        with _lock:
            _current = None if _current is self else _current


def instrument(
    prompt: int | None = None,
    conversation: str | None = None,
    *,
    agent: str | None = None,
    auto: bool = False,
    base_url: str | None = None,
    api_key: str | None = None,
    version: str | None = None,
    user: str | None = None,
    spool_dir: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
    timeout_s: float = 10.0,
    capture_content: bool = True,
) -> Instrumentation:
    """Send all spans of this process to the log of a prompt, from now on.

    The prompt is that of the id `prompt`, or of the name `agent`, by default that of `REPRISE_AGENT`: the first trace
    of a name makes the prompt. With `auto` the installed instrumentations of model clients and agent libraries are
    started, and record messages.

    It joins the tracer provider of OpenTelemetry that is set, or sets one. `base_url` and `api_key` are those of
    `REPRISE_URL` and `REPRISE_API_KEY` unless given. `conversation`, `user` and `version`, the commit hash of the
    prompt's version, are for programs that have only one of each.

    Spans are kept in `spool_dir`, by default below `~/.local/state/reprise`, within `limits`, until Reprise has stored
    them. Nothing here raises into the application or makes it wait: what is wrong is logged as a warning.

    A second call returns what the first has set up.
    """
    global _current
    with _lock:
        if prompt is None and agent is None:
            agent = os.environ.get("REPRISE_AGENT") or None
        if _current is None:
            set_captured(capture_content)
            defaults = {"gen_ai.conversation.id": conversation, "user.id": user, "service.prompt.version": version}
            endpoint = _endpoint(_path(prompt, agent), base_url, api_key, timeout_s)
            _current = _set_up(endpoint, spool_dir, limits or Limits(), defaults) if endpoint else Instrumentation()
            if auto and endpoint:
                start_installed(capture_content=capture_content)
        elif _current.url and not _current.url.endswith(_path(prompt, agent)):
            logger.warning(
                "Spans go to %s already; name another prompt by conversation(prompt_id=%s)", _current.url, prompt
            )
        return _current


def _endpoint(path: str, base_url: str | None, api_key: str | None, timeout_s: float) -> TraceEndpoint | None:
    if not path:
        logger.warning("No spans are sent to Reprise: name either a prompt or an agent, or set REPRISE_AGENT")
        return None
    settings = {
        "REPRISE_URL": base_url or os.environ.get("REPRISE_URL"),
        "REPRISE_API_KEY": api_key or os.environ.get("REPRISE_API_KEY"),
    }
    url, key = settings.values()
    if url and key:
        return TraceEndpoint(url.rstrip("/") + path, key, timeout_s)
    missing = " and ".join(name for name, value in settings.items() if not value)
    logger.warning("No spans are sent to Reprise: %s missing in the environment", missing)
    return None


def _path(prompt: int | None, agent: str | None) -> str:
    """Return the path of a prompt's spans or of an agent's; "" unless exactly one of them is named."""
    if (prompt is None) == (agent is None):
        return ""
    owner = f"prompts/{int(prompt)}" if prompt is not None else f"agents/{quote(str(agent), safe='')}"
    return f"/api/public/{owner}/otel/v1/traces"


def _set_up(
    endpoint: TraceEndpoint, spool_dir: str | os.PathLike[str] | None, limits: Limits, defaults: dict[str, Any]
) -> Instrumentation:
    provider = _provider()
    if provider is None or not _is_usable(endpoint):
        return Instrumentation()
    delivery = Delivery(Spool(_folder(spool_dir, endpoint.url), limits), endpoint)
    processor = RepriseSpanProcessor(delivery, {key: value for key, value in defaults.items() if value is not None})
    provider.add_span_processor(processor)
    # What an earlier process left is sent although this one may record nothing for long.
    delivery.start()
    atexit.register(processor.shutdown)
    return Instrumentation(endpoint.url, processor)


def _is_usable(endpoint: TraceEndpoint) -> bool:
    try:
        endpoint.prepare()
    except Exception as error:  # noqa: BLE001 - a key, a proxy or a certificate that is wrong stops no application
        logger.warning("No spans are sent to Reprise: %s: %s", type(error).__name__, error)
        return False
    return True


def _provider() -> _Provider | None:
    installed: Any = trace.get_tracer_provider()
    if isinstance(installed, trace.ProxyTracerProvider):
        installed = TracerProvider(span_limits=SpanLimits(max_span_attributes=_MAX_ATTRIBUTES))
        trace.set_tracer_provider(installed)
        installed = trace.get_tracer_provider()
    if hasattr(installed, "add_span_processor"):
        provider: _Provider = installed
        return provider
    logger.warning("No spans are sent to Reprise: %s accepts no span processor", type(installed).__qualname__)
    return None


def _state_folder() -> Path:
    if named := os.environ.get("XDG_STATE_HOME"):
        return Path(named)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home
        return Path(tempfile.mkdtemp(prefix="reprise-"))


def _folder(spool_dir: str | os.PathLike[str] | None, url: str) -> Path:
    """Return the folder of one address, so that no batch goes to another."""
    if spool_dir is None:
        spool_dir = _state_folder() / "reprise" / "spool"
    return Path(spool_dir) / hashlib.sha256(url.encode()).hexdigest()[:16]
