"""Builds and starts the processes: web, worker, clock, and all of them in one."""

import gc

# What is imported stays. Python's default, a collection for each 700 objects, takes a fifth of a process's start, and a
# seventh of the time of a busy worker.
OBJECTS_BETWEEN_COLLECTIONS = 20_000
gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
