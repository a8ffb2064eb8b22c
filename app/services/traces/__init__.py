"""Trace batches, sessions and logs."""
