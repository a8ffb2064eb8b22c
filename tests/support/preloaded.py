"""Imports the modules of Reprise's programs, except modules that read the settings of the process on import."""

# ruff: noqa: F401
import alembic.command
import dramatiq.cli
import gunicorn.app.wsgiapp
import reprise_client.__main__
import reprise_client.cli

import app.cli
import app.process.application
import app.process.gunicorn_worker
import app.process.storing
import app.redis_store.in_process
import config.gunicorn_logging
from app.process import copies
from app.process.bootstrap import freeze_gc

copies.installed()
# Copies share the memory that is not written to, and a collection of garbage writes to every object.
freeze_gc()
