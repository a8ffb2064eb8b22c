"""gunicorn's own records in the pipeline of all others; it writes no access log, the application has its own."""

from __future__ import annotations

import logging
from typing import Any

from gunicorn.glogging import Logger

from config.logging import configure
from config.settings import Settings


class StructuredLogger(Logger):  # type: ignore[misc]
    def setup(self, cfg: Any) -> None:
        configure(Settings.load())
        self.error_log.handlers[:] = []
        self.error_log.propagate = True
        # At debug level it writes every address, and some are secrets: an invitation's link, say.
        self.error_log.setLevel(max(logging.INFO, logging.getLogger().level))
