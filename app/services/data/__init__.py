"""Masking, retention, erasure and export of stored data."""
