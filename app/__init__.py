"""Reprise: versioned prompts, agent traces, and replays of conversations against the draft."""

__version__ = "0.2.0"
