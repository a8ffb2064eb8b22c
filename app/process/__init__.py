"""Builds and starts the processes: web, worker, clock, and all of them in one."""
