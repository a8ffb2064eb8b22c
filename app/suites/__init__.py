"""Regression suites chosen from recorded sessions: fingerprints, what they represent, and the choice."""
