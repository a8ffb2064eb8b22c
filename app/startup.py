"""What every process does first: read its settings, set up its log, and write every setting to it."""

from __future__ import annotations

import structlog

from app import __version__
from config import logging
from config.settings import Settings


def start(process: str) -> Settings:
    """The settings of this process, logged with secrets masked; ends the process with a message when one is bad."""
    settings = Settings.load_or_exit()
    logging.configure(settings)
    structlog.get_logger(__name__).info("starting", process=process, version=__version__, settings=settings.shown())
    return settings
