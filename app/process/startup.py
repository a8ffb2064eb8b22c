"""What every process does first: read its settings, set up its log, write every setting to it; and once it is built."""

from __future__ import annotations

import gc

import structlog

from app import __version__
from config import logging
from config.settings import Settings

# Python looks for cycles whenever 700 more objects were made than freed, a seventh of a busy worker's time.
OBJECTS_BETWEEN_COLLECTIONS = 20_000


def start(process: str) -> Settings:
    """The settings of this process, logged with secrets masked; ends the process with a message when one is bad."""
    settings = Settings.load_or_exit()
    logging.configure(settings)
    structlog.get_logger(__name__).info("starting", process=process, version=__version__, settings=settings.shown())
    return settings


def freeze_gc() -> None:
    """For a process that has built what it needs: what is there now is never looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
