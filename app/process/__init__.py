"""Builds and starts the processes: web, worker, clock, and all of them in one."""

import gc

OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""The threshold that `freeze_gc` sets. Python's default, 700 objects, costs a busy worker a seventh of its time."""
# Imported objects stay: to look for garbage among them is a tenth of a process's start.
gc.set_threshold(20 * OBJECTS_BETWEEN_COLLECTIONS)
