"""Builds and starts the processes: web, worker, clock, and all of them in one."""

import gc

OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""As of `freeze_gc`. Python's default, 700 objects, takes a seventh of the time of a busy worker."""
# What is imported stays: to look for garbage in it takes a tenth of a process's start.
gc.set_threshold(20 * OBJECTS_BETWEEN_COLLECTIONS)
