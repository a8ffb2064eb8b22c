"""Ingest: stores batches of spans and log records, and keeps turns and sessions up to date.

`service.py` stores a batch in one transaction with the facts of its turns (`turns.py`). What needs other batches
follows after the commit: contents from log records (`openings.py`), and calls that several batches record
(`settling.py`).
"""
