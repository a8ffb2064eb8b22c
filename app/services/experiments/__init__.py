"""Experiments: a candidate and a baseline replayed until the difference between them is decided."""
