"""Rows that are work: claims, heartbeats and sweeps."""
