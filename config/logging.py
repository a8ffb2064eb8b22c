"""Structured logs on standard error: JSON lines for machines, colours for a terminal."""

from __future__ import annotations

import logging
import sys

import structlog
from reprise_formats.controls import visible, visible_lines

from config.settings import Settings

# A logger keeps the list that it was first used with, so a later call of `configure` changes this one.
_processors: list[structlog.types.Processor] = []


def configure(settings: Settings) -> None:
    """Send the records of structlog and of the standard library through one pipeline, which replaces an earlier one."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    rendering: list[structlog.types.Processor] = (
        [show_controls, structlog.dev.ConsoleRenderer()]
        if _for_people(settings)
        else [structlog.processors.JSONRenderer()]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    # At the level info they log a line per model call, but ours have more details, and alembic logs every look at the
    # schema's revision.
    for noisy in ("httpx", "httpcore", "urllib3", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # The level is checked first, so that a record that is not written costs little.
    _processors[:] = [
        structlog.stdlib.filter_by_level,
        *shared,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ]
    structlog.configure(
        processors=_processors,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def show_controls(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """Escape the control characters of texts; the renderer escapes those of other values."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = visible_lines(value) if name == "exception" else visible(value)
    return event


def _for_people(settings: Settings) -> bool:
    return settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
