"""Sessions as people read them: lists with filters, single sessions, and parts of long ones.

A request builds a session from its stored spans (`service.py`). A long session is read a *part* at a time: up to 10
turns, or one *piece* of a turn with many spans (`turn_listing.py`, `traces.py`).
"""
