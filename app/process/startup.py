"""The start of every process: settings and logs first, the garbage collector once everything is built."""

from __future__ import annotations

import gc

import structlog

from app import __version__
from config import logging
from config.settings import Settings

# Python's default of 700 costs a busy worker a seventh of its time.
OBJECTS_BETWEEN_COLLECTIONS = 20_000


def start(process: str) -> Settings:
    """The settings of this process, logged with secrets masked; ends the process with a message when one is bad."""
    settings = Settings.load_or_exit()
    logging.configure(settings)
    structlog.get_logger(__name__).info("starting", process=process, version=__version__, settings=settings.shown())
    return settings


def freeze_gc() -> None:
    """Exempt all present objects from garbage collection, for a process that is built, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
