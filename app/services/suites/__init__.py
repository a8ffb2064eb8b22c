"""Suites: fingerprints of sessions, proposals, members and coverage."""
