"""Sends gunicorn's records through the common pipeline. There is no access log of gunicorn; the application has one."""

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
        # At the level debug it logs every URL, and some of them are secrets, such as the link of an invitation.
        self.error_log.setLevel(max(logging.INFO, logging.getLogger().level))
